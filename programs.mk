# ---- what each program is made of ------------------------------------------------
# The link list of a binary is its attack surface: `make check-link` proves what must
# not be in it. Each program is its main file, its own objects, and these libraries.
BRIG_MAIN := agent/main.c
BRIGD_MAIN := supervisor/main.c
RELAY_MAIN := agent/relay/relay_main.c
MCP_MAIN := agent/mcp/mcp_main.c
ZYGOTE_MAIN := jail/zygote_main.c
COURIER_MAIN := supervisor/courier_main.c

# Nothing is linked for lying in a directory: who adds a file says here which program it belongs to.
BASE_SRC := $(addprefix jail/base/,$(addsuffix .c, \
	err fd names))
WIRE_SRC := $(addprefix supervisor/wire/,$(addsuffix .c, \
	chain hmac jbuf json json_find json_string record tape utf8))
AGENT_SRC := $(addprefix agent/,$(addsuffix .c, \
	audit_source audit_verify cmd_audit cmd_audit_tail \
	args cmd_approvals cmd_call \
	call cmd_admin cmd_cancel cmd_doctor cmd_list cmd_metrics cmd_profile cmd_run cmd_status connect file nearest options private question \
	cmd_policy cmd_why \
	cmd_session doctor_processes follow \
	cmd_tool cmd_tool_state tool_folder tool_make \
	programs rpc show stop table text))
# The programs beside brig (agent/programs.h): of brig's own files what reads a command line and asks a supervisor,
CLIENT_SRC := $(addprefix agent/,$(addsuffix .c, call connect file nearest options private programs rpc show stop text))
# many questions at once over one connection,
LINK_SRC := agent/link.c
# and what each is for.
RELAY_SRC := $(addprefix agent/relay/,$(addsuffix .c, relay relay_post relay_serve))
MCP_SRC := $(addprefix agent/mcp/,$(addsuffix .c, mcp mcp_call mcp_message mcp_tools))
# The keeper's, with privilege, come first; then what core parses and decides with.
SUPERVISOR_SRC := $(addprefix supervisor/,$(addsuffix .c, \
	keeper keeper_audit keeper_courier keeper_caps keeper_child keeper_core keeper_loop keeper_reload keeper_serve listener load load_pack load_policy notify cmdline dirs \
	pidfd lane lane_ids zygote_image zygote_start \
	cgroup cgroup_file cgroup_find cgroup_host cgroup_mount cgroup_scope cgroup_sweep cgroup_v1 cgroup_v2 cgroup_view \
	profile profile_cache profile_check profile_check_lists profile_keys profile_merge \
	profile_mounts profile_print profile_seccomp profile_spec profile_store profile_text profile_value syscall_args syscall_groups \
	answer call call_event call_read call_start capture context client client_io fair stream \
	config config_check config_keys config_parse config_print config_value nearest units \
	courier_client decision_point \
	core core_life core_reload core_seal \
	request peers sched server drain methods_admin methods_call methods_profile methods_status doctor doctor_host jail pool pool_generation pool_refill pool_plan pool_stats \
	call_log core_filter log log_line metrics metrics_print prom status_report \
	audit audit_about audit_client audit_fill audit_line audit_log audit_scan audit_seal audit_take drop \
	session session_call methods_session approvals approvals_decide approvals_wait methods_approval gate gate_memory \
	reviewed keeper_mounts keeper_store store store_approval store_core store_files store_tool tool digest \
	decimal glob methods_policy policy policy_args policy_cases policy_keys policy_lint policy_match policy_path methods_why why \
	methods_tool_state missing narrow narrow_tool tool_watch \
	audit_look methods_audit \
	events methods_tool registry tool_answer tool_check tool_create tool_formats \
	pattern pattern_ecma schema schema_check schema_children schema_keys schema_say schema_value schema_words \
	jail_setup keeper_client methods receipt trial verdict zygote))
# Speaks with the network, for core, where the configuration names somebody; core_seal.c is core's, too.
COURIER_SRC := $(addprefix supervisor/,$(addsuffix .c, courier_http courier_seal core_seal))
# What describes a jail and names its stages; of the jail's files the supervisor takes only these.
SPEC_SRC := jail/spec.c jail/stage.c
JAIL_SRC := $(addprefix jail/,$(addsuffix .c, \
	enter init status verify \
	layer_caps layer_fds layer_landlock layer_mount layer_names layer_net \
	layer_privs layer_rlimit layer_seccomp layer_session layer_user \
	python python_api python_host python_json python_start zygote_fork zygote_loop zygote_root))

BRIG_SRC := $(BRIG_MAIN) $(AGENT_SRC) $(WIRE_SRC) $(BASE_SRC)
BRIGD_SRC := $(BRIGD_MAIN) $(SUPERVISOR_SRC) $(WIRE_SRC) $(BASE_SRC) $(SPEC_SRC)
# The zygote reports by zygote_fail() and die_at(): it has no use for struct err.
ZYGOTE_SRC := $(ZYGOTE_MAIN) $(JAIL_SRC) $(SPEC_SRC) $(filter-out %/err.c,$(BASE_SRC))
COURIER_ALL := $(COURIER_MAIN) $(COURIER_SRC) jail/base/fd.c
RELAY_ALL := $(RELAY_MAIN) $(RELAY_SRC) $(CLIENT_SRC)
MCP_ALL := $(MCP_MAIN) $(MCP_SRC) $(LINK_SRC) $(CLIENT_SRC)
STRAY := $(filter-out $(BRIG_SRC) $(RELAY_ALL) $(MCP_ALL) $(COURIER_ALL) $(BRIGD_SRC) $(ZYGOTE_SRC),$(wildcard agent/*.c agent/*/*.c jail/*.c jail/base/*.c supervisor/*.c supervisor/wire/*.c))
$(if $(STRAY),$(error in no program's list above: $(STRAY)))

BRIG_PKG := libmd
RELAY_PKG := libmd libevent_core libevent_extra libcurl
MCP_PKG := libmd libevent_core
BRIGD_PKG := libcjson libseccomp libcap libevent_core libmd sqlite3 libpcre2-8
ZYGOTE_PKG := python3-embed libcap libnl-route-3.0 libnl-3.0
COURIER_PKG := libcurl libseccomp
TEST_PKG := cmocka $(sort $(BRIG_PKG) $(BRIGD_PKG) $(ZYGOTE_PKG))

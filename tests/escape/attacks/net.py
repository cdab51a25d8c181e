# The network, and all that sockets reach without one.


def _dial(family, kind, addr):
    s = socket.socket(family, kind)
    s.settimeout(2)
    s.connect(addr)
    return 'connected'


def net_tcp_host_loopback(kw):
    return attempt('connect', _dial, socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', kw['tcp_port']))


def net_tcp6_host_loopback(kw):
    return attempt('connect', _dial, socket.AF_INET6, socket.SOCK_STREAM, ('::1', kw['tcp6_port']))


def net_tcp_mapped_address(kw):
    return attempt('connect', _dial, socket.AF_INET6, socket.SOCK_STREAM, ('::ffff:127.0.0.1', kw['tcp_port']))


def net_tcp_any_address(kw):
    """0.0.0.0 is this host too."""
    return attempt('connect', _dial, socket.AF_INET, socket.SOCK_STREAM, ('0.0.0.0', kw['tcp_port']))


def net_tcp_fastopen(kw):
    """Data without connect(): sendto with MSG_FASTOPEN."""
    def go():
        s = socket.socket()
        return s.sendto(b'x', 0x20000000, ('127.0.0.1', kw['tcp_port']))
    return attempt('sendto', go)


def net_udp_host_loopback(kw):
    def go():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(2)
        s.connect(('127.0.0.1', kw['udp_port']))
        s.send(b'x')
        return s.send(b'x')
    return attempt('sendto', go)


def net_abstract_host(kw):
    return attempt('connect', _dial, socket.AF_UNIX, socket.SOCK_STREAM, '\0' + kw['abstract'])


def net_abstract_dgram(kw):
    def go():
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        return a.sendto(b'x', '\0' + kw['abstract_dgram'])
    return attempt('sendto on a pair', go)


def net_unix_pair_to_path(kw):
    """A socketpair is granted; its end may still name a socket of the host."""
    def go():
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        return a.sendto(b'x', kw['unix_dgram'])
    return attempt('sendto on a pair', go)


def net_listen_reached(kw):
    """A listener of the tool in the port space of the host."""
    def go():
        s = socket.socket()
        s.bind(('127.0.0.1', kw['tcp_port']))
        return 'bound'
    text = attempt('bind', go)
    return esc('the host is there: its port is taken') if 'EADDRINUSE' in text else con('own ports: ' + text) if 'bound' in text else text


def net_interfaces(kw):
    try:
        names = [n for _, n in socket.if_nameindex() if n != 'lo']
    except OSError as e:
        return con(word(e) + ' if_nameindex')
    return esc('interfaces: ' + ' '.join(names)) if names else con('only lo')


def net_netlink_links(kw):
    """The interfaces as netlink tells them."""
    def go():
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        s.sendto(struct.pack('IHHIIB3x', 17, 18, 0x301, 1, 0, 0), (0, 0))
        data = s.recv(65536)
        indices = []
        while len(data) >= 24:
            size, kind = struct.unpack_from('IH', data)
            if kind == 16:
                indices.append(struct.unpack_from('i', data, 20)[0])
            data = data[(size + 3) & ~3:]
        if set(indices) <= {1}:
            raise OSError(errno.ENODEV, 'only lo')
        return indices
    return attempt('RTM_GETLINK', go)


def net_netlink_uevent(kw):
    def go():
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)
        s.bind((0, 1))
        return 'listening to device events'
    return attempt('uevent', go)


def net_netlink_audit(kw):
    return attempt('netlink audit', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))


def net_packet_raw(kw):
    return attempt('AF_PACKET', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300))


def net_icmp_raw(kw):
    return attempt('SOCK_RAW', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))


def net_vsock(kw):
    return attempt('AF_VSOCK', lambda: socket.socket(40, socket.SOCK_STREAM))


def net_vsock_seqpacket(kw):
    return verdict('AF_VSOCK', sysc(41, 40, 5 | 0o2000000, 0))


def net_alg(kw):
    def go():
        s = socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)
        s.bind(('hash', 'sha256'))
        return 'bound'
    return attempt('AF_ALG', go)


def net_xdp(kw):
    return verdict('AF_XDP', sysc(41, 44, 3, 0))


def net_mptcp(kw):
    return attempt('MPTCP', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))


def net_udplite(kw):
    return attempt('UDPLITE', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136))


def net_socket_high_bits(kw):
    """The kernel takes an int: a family with bits above it must not slip by a 64-bit comparison."""
    return verdict('socket', sysc(41, (1 << 32) | 40, 1, 0))


def net_pair_odd_family(kw):
    """socketpair is granted for AF_UNIX: is the family looked at?"""
    sv = ctypes.create_string_buffer(8)
    return verdict('socketpair', sysc(53, 16, 3, 0, sv), ('EOPNOTSUPP', 'ENOTSUP'))


def net_proc_net(kw):
    return attempt('/proc/net/tcp', lambda: open('/proc/net/tcp').read(40))


def net_resolver(kw):
    """Name service through files, sockets or the network."""
    return attempt('resolv.conf', lambda: open('/etc/resolv.conf').read(20))


def net_ioctl_ifconf(kw):
    import fcntl

    def go():
        names = ctypes.create_string_buffer(4096)
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        req = bytearray(struct.pack('iPP', 4096, ctypes.addressof(names), 0))
        fcntl.ioctl(s, 0x8912, req)
        n = struct.unpack('i', req[:4])[0]
        got = {names.raw[i:i + 16].split(b'\0')[0].decode() for i in range(0, n, 40)} - {'lo'}
        if not got:
            raise OSError(errno.ENODEV, 'none')
        return sorted(got)
    return attempt('SIOCGIFCONF', go)


def net_pass_fd_over_pair(kw):
    """Descriptors may travel on the tool's own pair; none of the host's is there to send."""
    def go():
        a, b = socket.socketpair()
        socket.send_fds(a, [b'x'], [kw['leak_fd']])
        return os.pread(socket.recv_fds(b, 1, 1)[1][0], 20, 0)
    return attempt('SCM_RIGHTS', go)


def net_bind_tcp(kw):
    def go():
        s = socket.socket()
        s.bind(('127.0.0.1', 0))
        s.listen()
        return s.getsockname()
    return attempt('bind', go)


def net_abstract_out_of_domain(kw):
    return attempt('connect', _dial, socket.AF_UNIX, socket.SOCK_STREAM, '\0' + kw['abstract'])


def net_connect_out_of_domain(kw):
    return attempt('connect', _dial, socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', kw['tcp_port']))


def net_attach_filter(kw):
    """A packet filter on a pair of one's own is code in the kernel too."""
    prog = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0xffff), 8)
    fprog = struct.pack('HxxxxxxQ', 1, ctypes.addressof(prog))
    a, b = socket.socketpair()
    return attempt('SO_ATTACH_FILTER', lambda: a.setsockopt(socket.SOL_SOCKET, 26, fprog))

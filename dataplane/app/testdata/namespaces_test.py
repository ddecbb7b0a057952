#!/usr/bin/python3
"""Two switches joined by an emulated link, a host on a tap at each, every host in its own network namespace: ping, TCP
and UDP pass, the delay is there, the endpoint counts and changes, nothing stays behind. Needs root; else exit 77 (skipped).

    namespaces_test.py build/dataplane/l3dml-switch"""
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

PREFIX = 'l3io%d' % (os.getpid() % 10000)
SITES = [{'name': 'paris', 'ns': PREFIX + 'a', 'mac': '02:00:00:00:00:0a'},
         {'name': 'london', 'ns': PREFIX + 'b', 'mac': '02:00:00:00:00:0b'}]
for index, site in enumerate(SITES):
    site['ip6'], site['ip4'] = 'fd00:%d::10' % index, '10.77.%d.10' % index
    site['gw6'], site['gw4'] = 'fd00:%d::1' % index, '10.77.%d.1' % index


def sh(*command, check=True, **more):
    return subprocess.run(command, check=check, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def in_ns(site, *command, **more):
    return sh('ip', 'netns', 'exec', site['ns'], *command, **more)


def configuration():
    lines = ['bfrt: 127.0.0.1:0', 'status: 127.0.0.1:0', 'control: 127.0.0.1:0', 'seed: 3', 'devices:']
    for site in SITES:
        lines += ['  - name: %s' % site['name'], '    ports:',
                  '      - {port: 0, tap: eth0, netns: %s, mac: "%s"}' % (site['ns'], site['mac'])]
    lines += ['links:', '  - {name: channel, ends: [paris:4, london:4], rate: 100Mbit, delay: 10ms, queue: 1MB}']
    return '\n'.join(lines) + '\n'


def program(client, own, mac_of_other):
    """Routes of one switch: its host behind port 0, everything else over the link."""
    wan = dict(port=4, dmac=int(mac_of_other.replace(':', ''), 16).to_bytes(6, 'big'))
    host = dict(port=0, dmac=int(own['mac'].replace(':', ''), 16).to_bytes(6, 'big'))
    forwarder = 'pipe.Ingress.forwarder.'
    for version, table in (('6', 'ip6'), ('4', 'ip4')):
        packed = ipaddress.ip_address(own[table]).packed
        gateway = ipaddress.ip_address(own['gw' + version]).packed
        client.add(forwarder + 'local' + version, [(gateway, None)], 'Ingress.forwarder.local')
        client.add(forwarder + 'host' + version, [(packed, None)], 'Ingress.forwarder.forward', **host)
        client.add(forwarder + 'prefix' + version, [(bytes(len(packed)), 0)], 'Ingress.forwarder.forward', **wan)


class Endpoint:
    def __init__(self, address):
        host, port = address.rsplit(':', 1)
        self.file = socket.create_connection((host, int(port))).makefile('rw')

    def ask(self, **request):
        self.file.write(json.dumps(request) + '\n')
        self.file.flush()
        answer = json.loads(self.file.readline())
        assert answer['ok'], answer
        return answer


def set_up_hosts():
    for site in SITES:
        in_ns(site, 'sysctl', '-qw', 'net.ipv6.conf.eth0.accept_dad=0', 'net.ipv6.conf.eth0.accept_ra=0')
        for line in ('addr add %s/128 dev eth0 nodad' % site['ip6'], 'addr add %s/32 dev eth0' % site['ip4'],
                     'link set lo up', 'link set eth0 up', '-6 route add %s dev eth0' % site['gw6'],
                     '-6 route add default via %s dev eth0' % site['gw6'],
                     'route add %s dev eth0' % site['gw4'], 'route add default via %s dev eth0' % site['gw4']):
            sh('ip', '-n', site['ns'], *line.split())


TRANSFER = '''
import socket, sys, hashlib
family, kind, role, address = (getattr(socket, sys.argv[1]), getattr(socket, sys.argv[2]), sys.argv[3], sys.argv[4])
data = bytes(i * 7 % 251 for i in range(1000)) * (2000 if kind == socket.SOCK_STREAM else 300)
if role == 'send' and kind == socket.SOCK_STREAM:
    s = socket.create_connection((address, 7001)); s.sendall(data); s.shutdown(socket.SHUT_WR); print(s.recv(99).decode())
elif role == 'send':  # one call, cut into datagrams by segmentation offload
    s = socket.socket(family, kind); s.setsockopt(socket.SOL_UDP, 103, 1000); s.connect((address, 7001))
    for i in range(0, len(data), 50000): s.send(data[i:i + 50000])
elif kind == socket.SOCK_STREAM:
    s = socket.socket(family, kind); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((address, 7001)); s.listen()
    print('ready', flush=True); c, _ = s.accept(); got = b''
    while part := c.recv(65536): got += part
    c.sendall(hashlib.sha256(got).hexdigest().encode()); sys.exit(got != data)
else:
    s = socket.socket(family, kind); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21); s.bind((address, 7001))
    print('ready', flush=True); s.settimeout(20); sys.exit(b''.join(s.recv(2000) for _ in range(300)) != data)
'''


def transfer(family, kind, version):
    """From paris to london; the receiver's exit code says whether every byte came."""
    to = SITES[1]['ip' + version]
    command = ['ip', 'netns', 'exec', SITES[1]['ns'], '/usr/bin/python3', '-c', TRANSFER, family, kind, 'receive', to]
    receiver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert receiver.stdout.readline() == 'ready\n'
        in_ns(SITES[0], '/usr/bin/python3', '-c', TRANSFER, family, kind, 'send', to, timeout=60)
        assert receiver.wait(timeout=60) == 0, '%s %s: bytes were lost or changed' % (family, kind)
    finally:
        receiver.kill()


def checks(process, ready):
    from bfrt import Client
    endpoint = Endpoint(ready['control'])
    stats = endpoint.ask(op='stats')
    assert [d['name'] for d in stats['devices']] == ['paris', 'london']
    macs = ['02:13:d3:00:00:00', '02:13:d3:00:00:01']
    for index, site in enumerate(SITES):
        client = Client('127.0.0.1:%d' % ready['bfrt_port'], device=index)
        program(client, site, macs[1 - index])
        client.close()
    host, port = ready['status'].rsplit(':', 1)
    assert socket.create_connection((host, int(port))).recv(9) == b'1'

    for version in '6', '4':
        for target in (SITES[0]['gw' + version], SITES[1]['ip' + version]):
            out = in_ns(SITES[0], 'ping', '-' + version, '-c', '3', '-i', '0.2', '-W', '5', target, check=False).stdout
            assert ' 0% packet loss' in out, out
    shortest = float(out.rsplit('= ', 1)[1].split('/')[0])
    assert shortest >= 20, 'the link adds 10 ms each way, but ping took %s ms' % shortest
    for version, family in (('6', 'AF_INET6'), ('4', 'AF_INET')):
        transfer(family, 'SOCK_STREAM', version)
        transfer(family, 'SOCK_DGRAM', version)

    stats = endpoint.ask(op='stats')
    channel = stats['links'][0]
    assert channel['forward']['delivered_bytes'] > 4e6 and channel['forward']['lost_packets'] == 0, channel
    assert all(w['sleeps'] > 0 and w['unwired'] == 0 for w in stats['workers']), stats['workers']
    capture = os.path.join(os.environ['TMPDIR'], 'paris.pcapng')
    endpoint.ask(op='capture', device='paris', port=0, file=capture)
    in_ns(SITES[0], 'ping', '-c', '1', SITES[0]['gw4'])
    endpoint.ask(op='capture', device='paris', port=0, stop=True)
    assert os.path.getsize(capture) > 2 * 98, 'the capture holds no echo and answer'
    endpoint.ask(op='link', name='channel', direction='forward', set={'loss': '100%'})
    assert in_ns(SITES[0], 'ping', '-c', '2', '-i', '0.2', '-W', '1', SITES[1]['ip6'], check=False).returncode != 0
    assert endpoint.ask(op='stats')['links'][0]['forward']['lost_packets'] >= 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
    report = json.loads(process.stdout.readlines()[-1])
    assert report['program'] == 'l3dml-switch' and any(r['name'] == 'lost_packets' for r in report['rows'])
    assert 'eth0' not in in_ns(SITES[0], 'ip', 'link').stdout, 'the tap stayed behind'


def main():
    if os.geteuid() != 0 or not os.path.exists('/dev/net/tun') or shutil.which('ip') is None:
        print('needs root, /dev/net/tun and iproute2: skipped')
        return 77
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    process = None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix='l3dml_e2e_') as folder:
        os.environ['TMPDIR'] = folder
        try:
            for site in SITES:
                sh('ip', 'netns', 'add', site['ns'])
            file = os.path.join(folder, 'switch.yaml')
            with open(file, 'w') as out:
                out.write(configuration())
            process = subprocess.Popen([sys.argv[1], file, '--json', '--log-level', 'warning'], stdout=subprocess.PIPE, text=True)
            line = process.stdout.readline()
            assert line, 'the switch did not start'
            set_up_hosts()
            checks(process, json.loads(line))
        finally:
            if process and process.poll() is None:
                process.kill()
            for site in SITES:
                sh('ip', 'netns', 'delete', site['ns'], check=False)
    print('ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())

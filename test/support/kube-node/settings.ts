/** The settings of a test node's daemons: files and flags. */
import { CNI_FOLDER } from './packages.ts';
import type { Network } from './sandbox.ts';

export const NODE_NAME = 'node1';
const ADMIN_TOKEN = 'test-admin';
const API_PORT = 6443;
const PROXY_HEALTH_PORT = 10256;

export interface NodeResources {
  readonly folder: string;
  readonly cgroup: string;
  readonly network: Network;
}

export function apiUrl({ network }: Pick<NodeResources, 'network'>): string {
  return `https://${network.node}:${API_PORT}`;
}

export function kubeProxyHealthUrl({ network }: Pick<NodeResources, 'network'>): string {
  return `http://${network.node}:${PROXY_HEALTH_PORT}/healthz`;
}

export const CREDENTIALS = { token: ADMIN_TOKEN, file: `${ADMIN_TOKEN},admin,admin,"system:masters"\n` } as const;

/** The administrator, also for the daemons. */
export function kubeconfig(place: NodeResources): string {
  return yaml({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'node',
    clusters: [
      {
        name: 'node',
        cluster: { server: apiUrl(place), 'certificate-authority': `${place.folder}/pki/apiserver.crt` },
      },
    ],
    users: [{ name: 'admin', user: { token: ADMIN_TOKEN } }],
    contexts: [{ name: 'node', context: { cluster: 'node', user: 'admin' } }],
  });
}

export function etcdArgs({ folder }: NodeResources): string[] {
  const [client, peer] = ['http://127.0.0.1:2379', 'http://127.0.0.1:2380'];
  return [
    `--data-dir=${folder}/etcd`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

export function apiserverArgs({ folder, network }: NodeResources): string[] {
  return [
    '--etcd-servers=http://127.0.0.1:2379',
    `--cert-dir=${folder}/pki`,
    `--secure-port=${API_PORT}`,
    `--advertise-address=${network.node}`,
    `--bind-address=${network.node}`,
    `--service-cluster-ip-range=${network.services}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${folder}/sa.pub`,
    `--service-account-signing-key-file=${folder}/sa.key`,
    `--token-auth-file=${folder}/tokens.csv`,
    '--authorization-mode=Node,RBAC',
    '--kubelet-preferred-address-types=InternalIP',
  ];
}

export function controllerManagerArgs({ folder }: NodeResources): string[] {
  return [
    `--kubeconfig=${folder}/kubeconfig`,
    `--service-account-private-key-file=${folder}/sa.key`,
    `--root-ca-file=${folder}/pki/apiserver.crt`,
    '--use-service-account-credentials',
    '--leader-elect=false',
    '--secure-port=0',
  ];
}

export function schedulerArgs({ folder }: NodeResources): string[] {
  return [`--kubeconfig=${folder}/kubeconfig`, '--leader-elect=false', '--secure-port=0'];
}

export function kubeletArgs({ folder, network }: NodeResources): string[] {
  return [
    `--config=${folder}/kubelet.yaml`,
    `--kubeconfig=${folder}/kubeconfig`,
    `--root-dir=${folder}/kubelet`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${network.node}`,
  ];
}

export function kubeletConfig({ folder, cgroup, network }: NodeResources): string {
  return yaml({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    failSwapOn: false,
    authentication: {
      anonymous: { enabled: true },
      webhook: { enabled: false },
    },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: `unix://${folder}/containerd.sock`,
    clusterDomain: 'cluster.local',
    clusterDNS: [network.node],
    resolvConf: `${folder}/resolv.conf`,
    podLogsDir: `${folder}/pod-logs`,
    localStorageCapacityIsolation: false,
    imageGCHighThresholdPercent: 100,
    volumeStatsAggPeriod: '0s',
    // the disk is shared and may be nearly full
    evictionHard: { 'memory.available': '100Mi' },
  });
}

export function kubeProxyConfig({ folder, network }: NodeResources): string {
  return yaml({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    hostnameOverride: NODE_NAME,
    clusterCIDR: network.pods,
    healthzBindAddress: `${network.node}:${PROXY_HEALTH_PORT}`,
    // a sandbox must not change the machine's settings
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    clientConnection: { kubeconfig: `${folder}/kubeconfig` },
  });
}

/**
 * Each pod has an interface pair of its own, so that traffic between pods passes the packet filter as it does between
 * nodes.
 */
export function podNetwork({ folder, network }: NodeResources): string {
  const ipam = {
    type: 'host-local',
    dataDir: `${folder}/ipam`,
    ranges: [[{ subnet: network.pods }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  return JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'ptp', ipMasq: true, ipam }] });
}

/** In TOML. The machine may forbid a process to lower its oom_score_adj. */
export function containerdConfig({ folder }: NodeResources, pauseImage: string): string {
  return `version = 2
root = "${folder}/containerd/root"
state = "${folder}/containerd/state"
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${CNI_FOLDER}"
    conf_dir = "${folder}/cni"
`;
}

export function corefile({ folder, network }: NodeResources): string {
  return `.:53 {
  bind ${network.node}
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${folder}/kubeconfig node
    ttl 5
  }
}
`;
}

/** JSON is YAML. */
function yaml(value: object): string {
  return JSON.stringify(value, undefined, 1);
}

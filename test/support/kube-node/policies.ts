/**
 * Translates NetworkPolicies of a test node to packet filter rules, like a network plugin with policies, and updates
 * them a few times a second. Traffic from the node and this machine is allowed; established connections continue.
 */
import type { KubeAnswer } from '../kube/client.ts';

/** The objects of the API server. */
interface PolicyState {
  readonly policies: readonly KubeAnswer['body'][];
  readonly pods: readonly KubeAnswer['body'][];
  readonly namespaces: readonly KubeAnswer['body'][];
  /** Addresses whose packets are not filtered. */
  readonly exempt: readonly string[];
}

type Body = KubeAnswer['body'];
type Direction = 'ingress' | 'egress';

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

const ROOT_CHAIN = 'MGW-POLICY';
/** Firewall marks of packets that an ipBlock allows, by direction; kube-proxy uses other marks. */
const MARKS: Readonly<Record<Direction, string>> = { ingress: '0x10000/0x10000', egress: '0x20000/0x20000' };
const TYPES: Readonly<Record<Direction, string>> = { ingress: 'Ingress', egress: 'Egress' };

/** The input of `iptables-restore --noflush`: the chain, and the chains that it uses. */
export function compilePolicies(state: PolicyState): string {
  const chains = new Map<string, string[]>();
  const root = [
    ...state.exempt.map((address) => `-s ${address} -j RETURN`),
    '-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN',
  ];
  for (const [index, pod] of state.pods.filter(isThere).entries()) {
    for (const direction of ['egress', 'ingress'] as const) {
      const policies = state.policies.filter((policy) => concerns(policy, pod, direction));
      if (policies.length === 0) continue;
      const name = `MGW-${direction === 'egress' ? 'E' : 'I'}-${index}`;
      root.push(`${direction === 'egress' ? '-s' : '-d'} ${pod.status.podIP} -j ${name}`);
      chains.set(name, [...policies.flatMap((policy) => rulesOf(state, { policy, pod, direction })), '-j DROP']);
    }
  }
  const all = [[ROOT_CHAIN, root] as const, ...chains];
  return `*filter\n${all
    .map(([name]) => `:${name} - [0:0]\n`)
    .join('')}${all.flatMap(([name, rules]) => rules.map((rule) => `-A ${name} ${rule}\n`)).join('')}COMMIT\n`;
}

function isThere({ status, spec }: Body): boolean {
  return (
    status.podIP !== undefined && spec.hostNetwork !== true && status.phase !== 'Succeeded' && status.phase !== 'Failed'
  );
}

function concerns({ metadata, spec }: Body, pod: Body, direction: Direction): boolean {
  return (
    metadata.namespace === pod.metadata.namespace &&
    (spec.policyTypes ?? ['Ingress']).includes(TYPES[direction]) &&
    selects(spec.podSelector, pod.metadata.labels)
  );
}

function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          throw new Error(`a selector has the operator ${operator}`);
      }
    })
  );
}

interface Concerned {
  readonly policy: Body;
  readonly pod: Body;
  readonly direction: Direction;
}

function rulesOf(state: PolicyState, concerned: Concerned): string[] {
  const { policy, direction } = concerned;
  const rules: Body[] = policy.spec[direction] ?? [];
  return rules.flatMap((rule) => {
    const peers: Body[] | undefined = direction === 'ingress' ? rule.from : rule.to;
    const ports = portsOf(rule.ports, concerned.pod);
    const matches =
      peers === undefined || peers.length === 0 ? [[]] : peers.flatMap((peer) => peerMatches(state, peer, concerned));
    return matches.flatMap((match) => ports.flatMap((port) => allow(match, port, direction)));
  });
}

/** The match of a peer: none, an address, or excluded ranges followed by an allowed one. */
type Match = readonly string[];

function allow(match: Match, port: string, direction: Direction): string[] {
  const [side, mark] = [direction === 'ingress' ? '-s' : '-d', MARKS[direction]];
  const [address, ...except] = match;
  const at = address === undefined ? '' : `${side} ${address} `;
  if (except.length === 0) return [`${at}${port}-j RETURN`];
  return [
    `${at}${port}-j MARK --set-xmark ${mark}`,
    ...except.map((range) => `${side} ${range} ${port}-j MARK --set-xmark 0x0/${mark.split('/')[1]}`),
    `-m mark --mark ${mark} -j RETURN`,
  ];
}

function peerMatches({ pods, namespaces }: PolicyState, peer: Body, { policy }: Concerned): Match[] {
  if (peer.ipBlock) return peer.ipBlock.cidr.includes(':') ? [] : [[peer.ipBlock.cidr, ...(peer.ipBlock.except ?? [])]];
  const known = new Set<string>(
    namespaces
      .filter(({ metadata }) =>
        peer.namespaceSelector
          ? selects(peer.namespaceSelector, metadata.labels)
          : metadata.name === policy.metadata.namespace,
      )
      .map(({ metadata }) => metadata.name),
  );
  return pods
    .filter(
      (pod) =>
        isThere(pod) && known.has(pod.metadata.namespace) && selects(peer.podSelector ?? {}, pod.metadata.labels),
    )
    .map((pod) => [pod.status.podIP]);
}

/** A name is the name of a port of the called pod. */
function portsOf(ports: readonly Body[] | undefined, { spec }: Body): string[] {
  if (ports === undefined || ports.length === 0) return [''];
  const named: Body[] = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(
    (container: Body) => container.ports ?? [],
  );
  return ports.flatMap(({ protocol = 'TCP', port, endPort }) => {
    const number = typeof port === 'string' ? named.find(({ name }) => name === port)?.containerPort : port;
    if (number === undefined && port !== undefined) return [];
    return [
      `-p ${protocol.toLowerCase()} ${
        number === undefined ? '' : `--dport ${number}${endPort === undefined ? '' : `:${endPort}`} `
      }`,
    ];
  });
}

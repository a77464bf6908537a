/**
 * The store of the gateways' books: a Valkey that keeps what it acknowledges (valkey) or nothing (forgetful), a Valkey
 * Cluster, or the file of a single gateway. `members` is the number of gateways.
 */
import { bucketBases, bucketOf, parseValkeyUrl } from '../../dataplane/ledger/valkey/location.ts';
import { loseHolds } from '../support/lose-holds.ts';
import { startValkeyCluster, whenFormed } from '../support/valkey-cluster.ts';
import { startValkey } from '../support/valkey.ts';
import type { ValkeyServer } from '../support/valkey.ts';
import { openFileBooks } from './books-file.ts';
import { openBooks } from './books.ts';
import type { Books } from './books.ts';
import { KEY_NAMES, KEYS } from './config.ts';
import type { AccountName, KeyName } from './config.ts';
import { uidOf } from './ledger-file.ts';
import { openNetwork } from './network.ts';
import type { Network } from './network.ts';

export const LEDGERS = ['file', 'valkey', 'forgetful', 'cluster'] as const;
export type LedgerKind = (typeof LEDGERS)[number];

/** Whether what was acknowledged survives the death of a server. */
export function keepsBooks(ledger: LedgerKind): boolean {
  return ledger !== 'forgetful';
}

/** What a store loses of a key or an account: its totals, the marks of its windows, both, or the holds of its bucket. */
export const LOST_BALANCES = ['totals', 'windows', 'both', 'holds'] as const;
export type LostBalance = (typeof LOST_BALANCES)[number];

export interface Store extends AsyncDisposable {
  readonly kind: LedgerKind;
  readonly members: number;
  /** Its servers; none where the books are in a file. */
  readonly nodes: readonly ValkeyServer[];
  /** The flags of a member that name the ledger. */
  flags(member: number): readonly string[];
  /** A network that a fault of this member disturbs. */
  network(member: number): Network;
  /** Deletes one kind of value of a key or an account, but not its copy. */
  loseBalance(owner: KeyName | AccountName, what: LostBalance): Promise<void>;
  /** Starts a server that was killed; resolves when the store takes commands again. */
  restart(node: ValkeyServer): Promise<void>;
  /** `dataDir`: the data folder of the first member. */
  openBooks(dataDir: string): Books;
}

const MEMBERS = 4;
const KEPT = [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
  ['auto-aof-rewrite-percentage', '0'],
] as const;

export function openStore(kind: LedgerKind): Promise<Store> {
  switch (kind) {
    case 'file':
      return Promise.resolve(fileStore());
    case 'cluster':
      return openClusterStore();
    default:
      return openServerStore(kind);
  }
}

function fileStore(): Store {
  return {
    kind: 'file',
    members: 1,
    nodes: [],
    flags: () => [],
    network: () => {
      throw new Error('a file has no network');
    },
    loseBalance: () => {
      throw new Error('a file loses no balance');
    },
    restart: async () => undefined,
    openBooks: openFileBooks,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Each member reaches the server through a network of its own. */
async function openServerStore(kind: 'valkey' | 'forgetful'): Promise<Store> {
  const server = await startValkey({ settings: kind === 'forgetful' ? [] : KEPT });
  const networks = await Promise.all(Array.from({ length: MEMBERS }, () => openNetwork(server.port)));
  const network = pick(networks);
  return {
    kind,
    members: MEMBERS,
    nodes: [server],
    network,
    flags: (member) => ['--ledger', `valkey://127.0.0.1:${network(member).port}`],
    loseBalance: (owner, what) => loseBalance({ url: server.url, nodes: [server] }, owner, what),
    restart: () => server.start(),
    openBooks: () => openBooks(server.url, [server]),
    async [Symbol.asyncDispose]() {
      await Promise.all(networks.map((each) => each.close()));
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Every member learns the same addresses of the nodes: each node has a network, which all members share. */
async function openClusterStore(): Promise<Store> {
  const networks: Network[] = [];
  const cluster = await startValkeyCluster(async (port) => {
    const network = await openNetwork(port);
    networks.push(network);
    return network.port;
  });
  return {
    kind: 'cluster',
    members: MEMBERS,
    nodes: cluster.nodes,
    network: pick(networks),
    flags: () => ['--ledger', cluster.url],
    loseBalance: (owner, what) => loseBalance(cluster, owner, what),
    async restart(node) {
      await node.start();
      await whenFormed(cluster.nodes);
    },
    openBooks: () => openBooks(cluster.url, cluster.nodes),
    async [Symbol.asyncDispose]() {
      await Promise.all(networks.map((each) => each.close()));
      await cluster[Symbol.asyncDispose]();
    },
  };
}

async function loseBalance(
  { url, nodes }: { readonly url: string; readonly nodes: readonly ValkeyServer[] },
  owner: KeyName | AccountName,
  what: LostBalance,
): Promise<void> {
  const key = KEY_NAMES.find((name) => name === owner);
  const account = `team/${key ? KEYS[key].account : owner}`;
  const bases = bucketBases(parseValkeyUrl(url));
  const base = bases[bucketOf(account, bases.length)] ?? '';
  const name = key ? `k:${uidOf(key)}` : `a:${account}`;
  const [totals, windows] = [base + name, `${base}w:${name}`];
  const names = { totals: [totals], windows: [windows], both: [totals, windows], holds: [] }[what];
  const lose = (node: ValkeyServer): Promise<unknown> =>
    what === 'holds' ? loseHolds(node, base) : node.command('DEL', ...names);
  // in a Cluster one node has it; a server that is down may come back with it
  await Promise.all(nodes.map((node) => lose(node).catch(() => undefined)));
}

function pick(networks: readonly Network[]): (member: number) => Network {
  return (member) => {
    const network = networks[member % networks.length];
    if (!network) throw new Error('there is no such network');
    return network;
  };
}

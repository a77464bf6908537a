/** Proxies that acknowledge what they are given, refuse it, or come and go, as a test wants it. */
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { ProxyDistribution } from '../../../operator/xds/distribution.ts';
import type { ProxyProgress } from '../../../operator/status/programming.ts';

type Refusal = Parameters<Parameters<ProxyDistribution['onRefusal']>[0]>[0];

const KINDS = {
  keys: 'ApiKey',
  accounts: 'Account',
  groups: 'Group',
  routes: 'ModelRoute',
  catalogs: 'PriceCatalog',
} as const;

export class FakeFleet implements ProxyDistribution {
  /** All that were published, the latest last. */
  readonly published: Snapshot[] = [];
  leader: string | undefined;
  #connected: number;
  /** Versions by object, and which proxies have them. */
  readonly #versions = new Map<string, { readonly text: string; acknowledged: number }>();
  readonly #refusals = new Map<string, string>();
  readonly #progressListeners = new Set<(ids: ReadonlySet<string>) => void>();
  readonly #refusalListeners = new Set<(refusal: Refusal) => void>();
  readonly #nameListeners = new Set<() => void>();
  #names: ReadonlySet<string>;
  #holding = false;

  constructor(connected = 3) {
    this.#connected = connected;
    this.#names = namesOf(connected);
  }

  get latest(): Snapshot | undefined {
    return this.published.at(-1);
  }

  publish(snapshot: Snapshot): void {
    this.published.push(snapshot);
    const now = new Map<string, string>();
    for (const list of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
      for (const message of snapshot[list])
        now.set(
          `${KINDS[list]} ${message.namespace}/${message.name}`,
          JSON.stringify(message, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
        );
    }
    const changed = new Set<string>();
    for (const id of this.#versions.keys()) if (!now.has(id)) this.#versions.delete(id);
    for (const [id, text] of now) {
      if (this.#versions.get(id)?.text === text) continue;
      this.#versions.set(id, { text, acknowledged: 0 });
      changed.add(id);
    }
    if (!this.#holding) setImmediate(() => this.#acknowledge(changed));
  }

  progress(id: string): ProxyProgress | undefined {
    const version = this.#versions.get(id);
    if (!version) return undefined;
    const words = this.#refusals.get(id);
    return {
      version: version.text,
      connected: this.#connected,
      acknowledged: Math.min(version.acknowledged, this.#connected),
      convergedMs: 14,
      rejected: words === undefined ? [] : [{ proxy: 'proxy-1', message: words }],
    };
  }

  onProgress(listener: (ids: ReadonlySet<string>) => void): () => void {
    this.#progressListeners.add(listener);
    return () => this.#progressListeners.delete(listener);
  }

  /** "proxy-0" and so on, as many as are connected. */
  connectedNames(): ReadonlySet<string> {
    return this.#names;
  }

  onNames(listener: () => void): () => void {
    this.#nameListeners.add(listener);
    return () => this.#nameListeners.delete(listener);
  }

  onRefusal(listener: (refusal: Refusal) => void): () => void {
    this.#refusalListeners.add(listener);
    return () => this.#refusalListeners.delete(listener);
  }

  leaderAt(address: string | undefined): void {
    this.leader = address;
  }

  /** From now on so many are connected; those that are new have everything at once. */
  connect(count: number): void {
    for (const version of this.#versions.values())
      if (version.acknowledged === this.#connected) version.acknowledged = count;
    this.#connected = count;
    this.#names = namesOf(count);
    for (const listener of this.#nameListeners) listener();
    this.#tell(new Set(this.#versions.keys()));
  }

  /** Acknowledgements wait until they are released. */
  hold(): void {
    this.#holding = true;
  }

  release(): void {
    this.#holding = false;
    this.#acknowledge(new Set(this.#versions.keys()));
  }

  refuse(id: string, words: string): void {
    this.#refusals.set(id, words);
    this.#tell(new Set([id]));
  }

  accept(id: string): void {
    this.#refusals.delete(id);
    this.#tell(new Set([id]));
  }

  reportRefusal(refusal: Omit<Refusal, 'connectError'> & Partial<Refusal>): void {
    for (const listener of this.#refusalListeners) listener({ connectError: '', ...refusal });
  }

  #acknowledge(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const version = this.#versions.get(id);
      if (version) version.acknowledged = this.#connected;
    }
    this.#tell(ids);
  }

  #tell(ids: ReadonlySet<string>): void {
    for (const listener of this.#progressListeners) listener(ids);
  }
}

function namesOf(count: number): ReadonlySet<string> {
  return new Set(Array.from({ length: count }, (_, n) => `proxy-${n}`));
}

/**
 * [P] What a follower has to tell the leader about this replica's proxies: first everything, then changes. Objects are
 * marked by name, and a digest is made when it can be sent, so nothing is queued.
 */
import type { AcknowledgementDigest, Refusal } from '#snapshot/fleet.gen.ts';
import type { Acknowledgements } from './acknowledgements.ts';

const OBJECTS_PER_MESSAGE = 2_000;
/** The maximum number of channels with refusals that wait for a leader; proxies repeat the others. */
const MAX_REFUSALS = 1_000;

export class DigestQueue {
  readonly #replica: string;
  readonly #acknowledgements: Acknowledgements;
  readonly #pending = new Set<string>();
  readonly #refusals = new Map<string, Refusal>();
  /** True once everything has been told. */
  #whole = false;
  #toldConnected: number | undefined;
  #toldNames: readonly string[] | undefined;

  constructor(replica: string, acknowledgements: Acknowledgements) {
    this.#replica = replica;
    this.#acknowledgements = acknowledgements;
  }

  /** Begins again with everything, for a leader that knows nothing of this replica. */
  begin(): void {
    for (const id of this.#acknowledgements.ids()) this.#pending.add(id);
    this.#whole = false;
    this.#toldConnected = undefined;
    this.#toldNames = undefined;
  }

  changed(ids: Iterable<string>): void {
    for (const id of ids) this.#pending.add(id);
  }

  refused(refusal: Refusal): void {
    const { route, channel, status, connectError, recovered = false } = refusal;
    const id = `${route}/${channel}/${recovered ? 'recovered' : `${status}${connectError}`}`;
    // the leader takes them in order
    this.#refusals.delete(id);
    if (this.#refusals.size < MAX_REFUSALS) this.#refusals.set(id, refusal);
  }

  /** Takes the next digest; undefined if the leader knows everything. */
  next(): AcknowledgementDigest | undefined {
    const objects = [...this.#pending.values().take(OBJECTS_PER_MESSAGE)].map((id) =>
      this.#acknowledgements.digest(id),
    );
    for (const { id } of objects) this.#pending.delete(id);
    this.#whole ||= this.#pending.size === 0;
    const connected = this.#whole ? this.#acknowledgements.connected : 0;
    const proxies = this.#takeNames();
    if (objects.length + proxies.length + this.#refusals.size === 0 && connected === this.#toldConnected)
      return undefined;
    this.#toldConnected = connected;
    const refusals = [...this.#refusals.values()];
    this.#refusals.clear();
    return { replica: this.#replica, connected, objects, refusals, proxies };
  }

  /** The names of this replica's proxies, if the leader does not know them. */
  #takeNames(): readonly string[] {
    const { names } = this.#acknowledgements;
    if (!this.#whole || names === this.#toldNames) return [];
    return (this.#toldNames = names);
  }
}

/**
 * One xDS stream, from its first requests to its end: receives rounds of updates, puts them in force, and acknowledges
 * or rejects each response. It sends through a callback, so that a test can replace the server.
 */
import { Resource } from '#snapshot/discovery.gen.ts';
import type { Any, DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#snapshot/discovery.gen.ts';
import { Checkpoint, ResourceFault } from '#snapshot/fleet.gen.ts';
import { OBSERVERS } from '#snapshot/services.ts';
import { CHECKPOINT_NAME, CHECKPOINT_TYPE, FAULT_TYPE, RESOURCE_TYPES, typeUrlOf } from '#snapshot/resources.ts';
import type { SnapshotField } from '#snapshot/resources.ts';
import type { ValidConfig } from '../state/compile-edit.ts';
import type { Inventory, RoundResult } from './inventory.ts';

export interface StreamOptions {
  readonly inventory: Inventory;
  /** The name of this proxy. */
  readonly nodeId: string;
  readonly observer?: boolean;
  readonly version: string;
  /** Requests everything again, and removes what the response lacks. */
  readonly fresh: boolean;
  readonly send: (request: DeltaDiscoveryRequest) => void;
  readonly install: (config: ValidConfig) => void;
  /** Called after each complete round; false if the two sides have different objects. */
  readonly onRound: (consistent: boolean) => void;
  readonly onRefused: (field: SnapshotField, name: string, message: string) => void;
  /** Runs a function after everything that has already arrived was received. */
  readonly soon: (run: () => void) => void;
}

interface Outstanding {
  readonly nonce: string;
  readonly typeUrl: string;
  readonly field: SnapshotField | undefined;
  readonly names: ReadonlyMap<string, string>;
}

const FIELDS = new Map(RESOURCE_TYPES.map(({ typeUrl, field }) => [typeUrl, field]));
const INVALID_ARGUMENT = 3;
const WILDCARD = '*';
const EMPTY_REQUEST: Omit<DeltaDiscoveryRequest, 'typeUrl'> = {
  node: undefined,
  resourceNamesSubscribe: [],
  resourceNamesUnsubscribe: [],
  initialResourceVersions: {},
  responseNonce: '',
  errorDetail: undefined,
};

export class XdsStream {
  readonly #options: StreamOptions;
  #outstanding: Outstanding[] = [];
  /** Types that have had a response; the first round is complete when all have. */
  readonly #answered = new Set<string>();
  /** Names received in the first round of a new stream, by kind. */
  readonly #seen = new Map<SnapshotField, Set<string>>();
  #checkpoint: Checkpoint | undefined;
  #complete = false;
  #whole = false;
  #urgent = false;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** Subscribes to everything, and names the versions that the proxy already has. */
  begin(): void {
    const { inventory, nodeId, observer, version, fresh } = this.#options;
    const node = { id: nodeId, cluster: observer ? OBSERVERS : '', userAgentName: `model-gateway/${version}` };
    const subscription = { node, resourceNamesSubscribe: [WILDCARD] };
    for (const { typeUrl, field } of RESOURCE_TYPES) {
      const initialResourceVersions = fresh ? {} : inventory.versions(field);
      this.#request({ ...subscription, typeUrl, initialResourceVersions });
    }
    this.#request({ ...subscription, typeUrl: CHECKPOINT_TYPE });
  }

  /** Throws if the response violates the protocol; the stream must then be closed. */
  receive(response: DeltaDiscoveryResponse): void {
    const { typeUrl, nonce } = response;
    const field = FIELDS.get(typeUrl);
    if (field === undefined && typeUrl !== CHECKPOINT_TYPE) {
      const errorDetail = { code: INVALID_ARGUMENT, message: 'this type was not requested', details: [] };
      return this.#request({ typeUrl, responseNonce: nonce, errorDetail });
    }
    const resources = response.resources.map((bytes) => Resource.decode(bytes));
    const names = new Map(resources.map(({ name, version }) => [name, version]));
    for (const name of response.removedResources) names.set(name, '');
    this.#outstanding.push({ nonce, typeUrl, field, names });
    this.#answered.add(typeUrl);
    if (field !== undefined) this.#stage(field, resources, response.removedResources);
    else this.#takeCheckpoint(resources);
    if (this.#complete && this.#answered.size > RESOURCE_TYPES.length) this.#endRound();
    else if (this.#whole) this.#hurry();
  }

  #stage(field: SnapshotField, resources: readonly Resource[], removed: readonly string[]): void {
    const { inventory, fresh } = this.#options;
    for (const { name, version, resource } of resources)
      inventory.stage(field, { name, version }, resource?.value ?? new Uint8Array());
    for (const name of removed) inventory.stageRemoval(field, name);
    if (!fresh || this.#whole) return;
    const seen = this.#seen.get(field) ?? new Set<string>();
    this.#seen.set(field, seen);
    for (const { name } of resources) seen.add(name);
  }

  #takeCheckpoint(resources: readonly Resource[]): void {
    for (const { resource } of resources) this.#checkpoint = Checkpoint.decode(resource?.value ?? new Uint8Array());
    this.#complete = true;
  }

  /** Applies revocations and lowered limits at once, without waiting for the rest of a long round. */
  #hurry(): void {
    if (this.#urgent) return;
    this.#urgent = true;
    this.#options.soon(() => {
      this.#urgent = false;
      if (this.#outstanding.length === 0) return;
      const { config } = this.#options.inventory.takeTightening();
      if (!config) return;
      this.#options.install(config);
      const done = this.#outstanding.filter((each) => !this.#isStaged(each));
      this.#outstanding = this.#outstanding.filter((each) => !done.includes(each));
      for (const each of done) this.#answer(each);
    });
  }

  /** True if a part of the response is still pending until its round is complete. */
  #isStaged({ field, names }: Outstanding): boolean {
    return field === undefined || names.keys().some((name) => this.#options.inventory.isStaged(field, name));
  }

  #endRound(): void {
    const { inventory, fresh, install, onRound } = this.#options;
    this.#complete = false;
    if (fresh && !this.#whole) {
      for (const { field } of RESOURCE_TYPES) inventory.stageMissing(field, this.#seen.get(field) ?? new Set());
    }
    this.#seen.clear();
    const first = !this.#whole;
    this.#whole = true;
    const outcome = inventory.takeRound();
    // install the first round even if it is empty, because the proxy then has its configuration
    const config = outcome.config ?? (first ? { snapshot: () => inventory.snapshot() } : undefined);
    if (config) install(config);
    for (const each of this.#outstanding.splice(0)) this.#answer(each);
    this.#recover(outcome);
    onRound(this.#agrees());
  }

  #agrees(): boolean {
    const { text, count } = this.#options.inventory.digest;
    return !this.#checkpoint || (this.#checkpoint.digest === text && this.#checkpoint.resources === count);
  }

  /** Sends an ACK, or a NACK with every refused object and the reason; objects that it does not name are in force. */
  #answer({ nonce, typeUrl, field, names }: Outstanding): void {
    const { inventory, onRefused } = this.#options;
    const details: Any[] = [];
    const messages: string[] = [];
    if (field !== undefined) {
      for (const [name, version] of names) {
        const message = version === '' ? undefined : inventory.refusal(field, name);
        if (message === undefined) continue;
        details.push({ typeUrl: FAULT_TYPE, value: ResourceFault.encode({ name, version, message }).finish() });
        messages.push(`${name}: ${message}`);
        onRefused(field, name, message);
      }
    }
    const errorDetail = { code: INVALID_ARGUMENT, message: messages.slice(0, 10).join('\n'), details };
    this.#request({ typeUrl, responseNonce: nonce, ...(details.length > 0 && { errorDetail }) });
  }

  /** Requests objects again that are no longer refused, because only a response about them withdraws the refusal. */
  #recover({ recovered }: RoundResult): void {
    if (recovered.length === 0) return;
    for (const { field } of RESOURCE_TYPES) {
      const names = recovered.filter((each) => each.field === field).map(({ name }) => name);
      if (names.length > 0) this.#request({ typeUrl: typeUrlOf(field), resourceNamesSubscribe: names });
    }
    this.#request({ typeUrl: CHECKPOINT_TYPE, resourceNamesSubscribe: [CHECKPOINT_NAME] });
  }

  #request(request: Partial<DeltaDiscoveryRequest> & Pick<DeltaDiscoveryRequest, 'typeUrl'>): void {
    this.#options.send({ ...EMPTY_REQUEST, ...request });
  }
}

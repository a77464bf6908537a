/**
 * [P] The configuration of a proxy, and how a round of updates changes it: all valid objects are put in force together,
 * and an invalid object keeps its last good version. The edit of one key costs the same however many keys there are;
 * all objects are validated only if one is invalid.
 */
import { FIELDS, SNAPSHOT_KINDS } from '#snapshot/kinds.gen.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import { decodeObject, resourceName, SetDigest, typeUrlOf } from '#snapshot/resources.ts';
import type { SnapshotField } from '#snapshot/resources.ts';
import type { Key, Snapshot } from '#snapshot/snapshot.gen.ts';
import { tightensAccount, tightensKey } from '#snapshot/tightening.ts';
import { validateOffering, validateOneAccount, validateOneKey, validateSnapshot } from '#snapshot/validate.ts';
import type { Edit, SnapshotEdit, ValidConfig } from '../state/compile-edit.ts';
import { KindInventory } from './kind-inventory.ts';
import type { CommitResult } from './kind-inventory.ts';

/** An object under its resource name. */
interface Named<M> {
  readonly name: string;
  readonly version: string;
  readonly object: M;
}

/** The result of a round, or of the part of it that was applied early. */
export interface RoundResult {
  /** Undefined if nothing changes. */
  readonly config: ValidConfig | undefined;
  /** Objects that are in force now although they were refused before and were not sent again. */
  readonly recovered: readonly { readonly field: SnapshotField; readonly name: string }[];
}

/** What refers to others first. */
const ALL_FIELDS: readonly SnapshotField[] = SNAPSHOT_KINDS.map(({ field }) => field).toReversed();

export class Inventory {
  readonly #kinds = {
    keys: new KindInventory((bytes) => decodeObject('keys', bytes)),
    accounts: new KindInventory((bytes) => decodeObject('accounts', bytes)),
    groups: new KindInventory((bytes) => decodeObject('groups', bytes)),
    routes: new KindInventory((bytes) => decodeObject('routes', bytes)),
    catalogs: new KindInventory((bytes) => decodeObject('catalogs', bytes)),
  };
  /** The names of keys in force, by their hashes and uids. */
  readonly #owners = new Map<string, string>();
  readonly #digest = new SetDigest();

  /** The digest of the newest versions received. */
  get digest(): { readonly count: number; readonly text: string } {
    return this.#digest;
  }

  get size(): number {
    return ALL_FIELDS.reduce((sum, field) => sum + this.#kinds[field].held.size, 0);
  }

  get refused(): number {
    return ALL_FIELDS.reduce((sum, field) => sum + this.#kinds[field].refused.size, 0);
  }

  /** Stages a resource until its round is complete. */
  stage(field: SnapshotField, resource: { readonly name: string; readonly version: string }, bytes: Uint8Array): void {
    this.#kinds[field].stage(resource.name, resource.version, bytes);
  }

  stageRemoval(field: SnapshotField, name: string): void {
    this.#kinds[field].stageRemoval(name);
  }

  /** Discards the pending objects of a round that its stream did not complete. */
  unstage(): void {
    for (const field of ALL_FIELDS) this.#kinds[field].unstage();
  }

  /** True if the resource was received and is pending. */
  isStaged(field: SnapshotField, name: string): boolean {
    return this.#kinds[field].staged.has(name);
  }

  /** The fault of an object's newest version; undefined if it is in force or gone. */
  refusal(field: SnapshotField, name: string): string | undefined {
    return this.#kinds[field].refused.get(name)?.message;
  }

  /** Names and versions in force. */
  versions(field: SnapshotField): Record<string, string> {
    const versions: Record<string, string> = {};
    for (const [name, { version }] of this.#kinds[field].held) versions[name] = version;
    return versions;
  }

  /** The number of objects in force. */
  *held<F extends SnapshotField>(field: F): Iterable<Named<Snapshot[F][number]>> {
    for (const [name, { version, object }] of this.#kinds[field].held) yield { name, version, object };
  }

  /**
   * Stages the removal of all objects, also refused ones, that are not among these names, because a full response lists
   * all that exist.
   */
  stageMissing(field: SnapshotField, names: ReadonlySet<string>): void {
    const { held, refused } = this.#kinds[field];
    for (const name of [...held.keys(), ...refused.keys()]) if (!names.has(name)) this.stageRemoval(field, name);
  }

  /** Applies only revocations and lowered limits, which need not wait for the rest of their round. */
  takeTightening(): RoundResult {
    const { keys, accounts } = this.#kinds;
    const keyNames = tighteningNames(keys, tightensKey, true).filter((name) => this.#keyFault(name) === undefined);
    const accountNames = tighteningNames(accounts, tightensAccount, false).filter(
      (name) => this.#accountFault(name) === undefined,
    );
    const edit = { keys: editsOf(keys, keyNames), accounts: editsOf(accounts, accountNames), offering: undefined };
    this.#commit('keys', keyNames);
    this.#commit('accounts', accountNames);
    const isEmpty = edit.keys.length + edit.accounts.length === 0;
    return { config: isEmpty ? undefined : { snapshot: () => this.snapshot(), edit }, recovered: [] };
  }

  /** Ends the round and puts its valid objects in force. */
  takeRound(): RoundResult {
    const staged = new Map(ALL_FIELDS.map((field) => [field, new Set(this.#kinds[field].staged.keys())]));
    if (this.refused > 0 || !this.#isValid()) this.#findFaults();
    const edit = this.#edit();
    const recovered: { field: SnapshotField; name: string }[] = [];
    for (const field of ALL_FIELDS) {
      for (const { name, message } of this.#commit(field))
        if (message === '' && !staged.get(field)?.has(name)) recovered.push({ field, name });
    }
    return { config: this.#configOf(edit), recovered };
  }

  /** The whole configuration in force. */
  snapshot(): Snapshot {
    const { keys, accounts, groups, routes, catalogs } = this.#kinds;
    return {
      keys: keys.objects(),
      accounts: accounts.objects(),
      groups: groups.objects(),
      routes: routes.objects(),
      catalogs: catalogs.objects(),
    };
  }

  #configOf(edit: SnapshotEdit | undefined): ValidConfig | undefined {
    return edit && { snapshot: () => this.snapshot(), edit };
  }

  #edit(): SnapshotEdit | undefined {
    const { keys, accounts, groups, routes, catalogs } = this.#kinds;
    const offering = [groups, routes, catalogs].some((kind) => kind.edits().length > 0)
      ? { groups: groups.objects(), routes: routes.objects(), catalogs: catalogs.objects() }
      : undefined;
    const edit = { keys: keys.edits(), accounts: accounts.edits(), offering };
    return edit.keys.length === 0 && edit.accounts.length === 0 && !offering ? undefined : edit;
  }

  /** True if no candidate has a fault. Validates no more than it must. */
  #isValid(): boolean {
    const { keys, accounts, groups, routes, catalogs } = this.#kinds;
    const kinds = Object.values(this.#kinds);
    if (kinds.some(({ staged }) => staged.values().some(({ message }) => message !== ''))) return false;
    const claimed = new Set<string>();
    for (const [name, { object }] of keys.staged) {
      if (object && (validateOneKey(object).length > 0 || this.#conflicts(name, object, claimed))) return false;
    }
    if (accounts.staged.keys().some((name) => this.#accountFault(name) !== undefined)) return false;
    if (groups.staged.size + routes.staged.size + catalogs.staged.size === 0) return true;
    const offering = { groups: groups.objects(), routes: routes.objects(), catalogs: catalogs.objects() };
    return validateOffering(offering).length === 0;
  }

  /** True if another key has one of the key's hashes or its uid, or claims it in this round. */
  #conflicts(name: string, key: Key, claimed: Set<string>): boolean {
    for (const claim of claimsOf(key)) {
      const owner = this.#owners.get(claim);
      const isTaken = owner !== undefined && owner !== name && !this.#kinds.keys.staged.has(owner);
      if (isTaken || claimed.has(claim)) return true;
      claimed.add(claim);
    }
    return false;
  }

  #keyFault(name: string): string | undefined {
    const object = this.#kinds.keys.staged.get(name)?.object;
    if (!object) return undefined;
    const taken = claimsOf(object).some((claim) => (this.#owners.get(claim) ?? name) !== name);
    return taken ? 'another key has its hash or uid' : validateOneKey(object)[0]?.message;
  }

  #accountFault(name: string): string | undefined {
    const object = this.#kinds.accounts.staged.get(name)?.object;
    return object && validateOneAccount(object)[0]?.message;
  }

  /**
   * Excludes invalid objects until the rest is valid. It terminates, because each pass excludes a pending object, and
   * the configuration without pending objects was valid before.
   */
  #findFaults(): void {
    for (const field of ALL_FIELDS) this.#kinds[field].stageRefused();
    const validate = (): SnapshotFault[] => validateSnapshot(this.snapshot());
    for (let faults = validate(); faults.length > 0; faults = validate()) {
      // records all of an object's faults before the next pass
      const noted = faults.map((fault) =>
        this.#kinds[FIELDS[fault.kind]].noteFault(resourceName(fault), fault.message),
      );
      if (noted.includes(true)) continue;
      const [{ kind, message, ...object } = { kind: 'ApiKey', message: '', namespace: '', name: '' } as const] = faults;
      const words = `with it, ${kind} ${resourceName(object)} is not valid: ${message}`;
      if (this.#kinds[FIELDS[kind]].noteFaultOfAll(words)) continue;
      if (!ALL_FIELDS.map((field) => this.#kinds[field].noteFaultOfAll(words)).includes(true)) return;
    }
  }

  /** Puts candidates in force, and updates owners and digest. */
  #commit(field: SnapshotField, names?: readonly string[]): CommitResult[] {
    const kind = this.#kinds[field];
    const all = names ?? [...kind.staged.keys()];
    const typeUrl = typeUrlOf(field);
    const before = all.map((name) => ({ name, version: kind.received(name) }));
    if (field === 'keys') this.#disown(all);
    const committed = kind.commit(all);
    if (field === 'keys') this.#own(all);
    for (const { name, version } of before) {
      const now = kind.received(name);
      if (version !== undefined) this.#digest.remove(typeUrl, name, version);
      if (now !== undefined) this.#digest.add(typeUrl, name, now);
    }
    return committed;
  }

  #disown(names: readonly string[]): void {
    for (const name of names) {
      const held = this.#kinds.keys.held.get(name);
      for (const claim of held ? claimsOf(held.object) : []) {
        if (this.#owners.get(claim) === name) this.#owners.delete(claim);
      }
    }
  }

  #own(names: readonly string[]): void {
    for (const name of names) {
      const held = this.#kinds.keys.held.get(name);
      for (const claim of held ? claimsOf(held.object) : []) this.#owners.set(claim, name);
    }
  }
}

function claimsOf({ uid, hashes }: Key): string[] {
  return [`uid ${uid}`, ...hashes.map(({ sha256 }) => sha256)];
}

type ObjectId = Pick<Key, 'namespace' | 'name'>;
type Tightens<M> = (before: M, after: M) => boolean;

/** Pending objects that revoke a key or lower a limit. */
function tighteningNames<M extends ObjectId>(
  kind: KindInventory<M>,
  tightens: Tightens<M>,
  removals: boolean,
): string[] {
  const names: string[] = [];
  for (const [name, { version, object, message }] of kind.staged) {
    const held = kind.held.get(name);
    if (!held || message !== '') continue;
    if (object ? tightens(held.object, object) : removals && version === '') names.push(name);
  }
  return names;
}

function editsOf<M extends ObjectId>(kind: KindInventory<M>, names: readonly string[]): Edit<M>[] {
  return names.map((name) => ({ before: kind.held.get(name)?.object, after: kind.staged.get(name)?.object }));
}

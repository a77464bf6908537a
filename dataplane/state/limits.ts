/**
 * [P] Looks up the limits in force now, which may be newer than the call: for admission, settlement, running calls
 * after an edit, and jobs.
 */
import type { CountLimit, MoneyLimit } from '../ledger/ledger.ts';
import type { KeyState, State } from './state.ts';

/** The key of a call, and the hash by which the call found it. */
interface Caller {
  readonly keyHash: string;
  readonly key: Pick<KeyState, 'uid' | 'account'>;
}

/** The group, model and channel of a call or a job. */
interface Placement {
  readonly group: string;
  readonly model: string;
  /** "route/channel" */
  readonly channel: string;
}

/**
 * The caller's limits on money: the key's, its account's credit, then its account's limits. Undefined if the key or its
 * account is gone, or the hash now opens another key: the ledger counts by key and account, so another key's limits must
 * not apply to them.
 */
export function spendingLimits(
  state: State,
  { keyHash, key: { uid, account: name } }: Caller,
): readonly MoneyLimit[] | undefined {
  const key = state.credentials.get(keyHash)?.key;
  const account = state.accounts.get(name);
  if (!account || key?.uid !== uid || key.account !== name) return undefined;
  return [key.quota, account.credit, ...account.spending];
}

/** The limits of the group and the channel. If the group no longer has the channel, the channel's own still apply. */
export function channelLimits(state: State, { group, model, channel }: Placement): readonly CountLimit[] {
  const tiers = state.groups.get(group)?.offers.get(model)?.tiers ?? [];
  const candidate = tiers.flat().find(({ target }) => target.id === channel);
  return candidate?.limits ?? state.channelLimits.get(channel) ?? [];
}

/** Whether a limit is the same on every channel. */
export function isOfCaller({ scope }: Pick<CountLimit, 'scope'>): boolean {
  return scope === 'Key' || scope === 'Account';
}

/** The limits of a key, then those of its account. */
export function callerLimits({ accounts }: Pick<State, 'accounts'>, key: KeyState): readonly CountLimit[] {
  const ofAccount = accounts.get(key.account)?.limits ?? [];
  return ofAccount.length === 0 ? key.limits : [...key.limits, ...ofAccount];
}

/**
 * Finds the limits of a call's key. A key that was rotated meanwhile no longer has the old hash, so it is found by its
 * uid, in an index that is built on first use.
 */
export function keyLimits(state: State): (caller: Caller) => readonly CountLimit[] {
  let byUid: ReadonlyMap<string, KeyState> | undefined;
  return ({ keyHash, key: { uid } }) => {
    const found = state.credentials.get(keyHash)?.key;
    if (found?.uid === uid) return found.limits;
    byUid ??= new Map(state.credentials.values().map(({ key }) => [key.uid, key]));
    return byUid.get(uid)?.limits ?? [];
  };
}

/**
 * What a provider stores for an account: a response or a conversation. The id that the gateway sealed names the channel
 * that has it, and only calls of the same account can open it.
 */
import type { PipelineDeps } from '../pipeline/context.ts';
import { sealFor } from '../pipeline/sealing-context.ts';
import { isPathSegment } from '../protocol/openai/videos.ts';
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { channelLimits } from '../state/limits.ts';
import type { Candidate, KeyState, Offer, State } from '../state/state.ts';

interface SealedId {
  readonly id: string;
  readonly kind: string;
}

/** A channel that stores something for the caller's account. */
export interface StoringChannel {
  readonly channel: Pick<Candidate, 'target' | 'limits'> & { readonly model: { readonly name: string } };
  readonly seal: ChannelSeal;
  /** Whether what the seal names may contain images. */
  readonly images: boolean;
}

/** What the caller's account has at a channel. */
export interface StoredObject extends StoringChannel {
  /** As the client has it. */
  readonly sealedId: string;
  readonly providerId: string;
}

/** What a sealed id names. */
interface Named extends Pick<StoredObject, 'sealedId' | 'providerId' | 'images'> {
  /** "route/channel" */
  readonly channelId: string;
}

/** Opens a sealed id of this kind. Returns undefined if it belongs to another account. */
export function openId(state: State, key: KeyState, { id: sealedId, kind }: SealedId): Named | undefined {
  const opened = sealFor(state, key, '')?.open(sealedId);
  if (opened?.kind !== kind || !isPathSegment(opened.data)) return undefined;
  return { sealedId, providerId: opened.data, images: opened.images, channelId: opened.channel };
}

/** Finds what an id names. Returns undefined if the channel is no longer available to the key. */
export function findStored(
  state: State,
  key: KeyState,
  { sealedId, providerId, images, channelId }: Named,
): (StoredObject & { readonly channel: Candidate }) | undefined {
  const channel = offersOf(state, key)
    .flatMap(storingTiers)
    .flat()
    .find(({ target }) => target.id === channelId);
  const seal = channel && sealFor(state, key, channelId, images);
  return seal && { channel, seal, sealedId, providerId, images };
}

/**
 * Finds what an id names on a channel that gets no new calls, or none of this key, if the account's job made it
 * there. Rejects with LedgerUnavailable.
 */
export async function findStoredByJob(
  { state, ledger }: Pick<PipelineDeps, 'state' | 'ledger'>,
  key: KeyState,
  { sealedId, providerId, images, channelId }: Named,
): Promise<StoredObject | undefined> {
  const job = await ledger.readChannelJob(key.account, channelId, providerId);
  const [target, seal] = [state.get().targets.get(channelId), sealFor(state.get(), key, channelId, images)];
  if (!job || !target || !seal || key.models?.has(job.origin.model) === false) return undefined;
  const { origin } = job;
  const channel = { target, limits: channelLimits(state.get(), origin), model: { name: origin.model } };
  return { channel, seal, sealedId, providerId, images };
}

/** The offers of the key's group that the key may use. */
export function offersOf({ groups }: State, { group, models }: KeyState): readonly Offer[] {
  return [...(groups.get(group)?.offers.values() ?? [])].filter(({ model }) => models?.has(model) !== false);
}

/** The offer's channels whose provider serves Responses and stores them, by tier. */
export function storingTiers({ tiers }: Pick<Offer, 'tiers'>): readonly (readonly Candidate[])[] {
  return tiers
    .map((tier) => tier.filter(({ target }) => target.endpoints.has('Responses')))
    .filter((tier) => tier.length > 0);
}

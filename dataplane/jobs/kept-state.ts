/**
 * Sends a client's request about what a provider keeps, a response or a conversation, to the channel that made it. The
 * id that the gateway sealed names the channel, and only calls of the same account can open it.
 */
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import { planRequest } from '../pipeline/channel-call.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import {
  MAX_RESPONSE_BYTES,
  notAbout,
  readWholeBody,
  sendStoredRequest,
  withLimits,
} from '../pipeline/free-request.ts';
import type { Stored } from '../pipeline/free-request.ts';
import { sealFor, sealingContext } from '../pipeline/sealing-context.ts';
import { sealState } from '../protocol/openai/kept-state.ts';
import type { SealedState } from '../protocol/openai/kept-state.ts';
import { isPathSegment } from '../protocol/openai/videos.ts';
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { callerLimits, channelLimits } from '../state/limits.ts';
import type { Candidate, KeyState, Offer, State } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import type { BufferedResponse } from './videos.ts';

export interface SealedId {
  readonly id: string;
  readonly kind: string;
}

/** A request of a client, from which its identity and its headers are taken. */
export interface KeptStateRequest {
  readonly requestId: string;
  readonly key: KeyState;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** The path after the id, such as "/cancel"; empty for the response or the conversation itself. */
  readonly below: string;
  /** The client's query, without its question mark. */
  readonly query: string;
  /** Aborts when the client disconnects. */
  readonly left: AbortSignal;
  readonly attempts: AttemptReport[];
  /** Sets how many bytes the response holds of the key's memory, until the client has it. Throws GatewayError. */
  readonly hold: (bytes: number) => void;
}

/** A channel that keeps something for the caller's account. */
export interface Keeper {
  readonly offered: Pick<Candidate, 'target' | 'limits'> & { readonly model: { readonly name: string } };
  readonly seal: ChannelSeal;
}

/** What the caller's account has at a channel. */
export interface Kept extends Keeper {
  /** The sealed id, as the client has it. */
  readonly id: string;
  /** The id that the provider gave. */
  readonly ownId: string;
  /** Whether it may contain images. */
  readonly images: boolean;
}

/** A response whose body has its ids sealed. */
export interface KeptAnswer extends BufferedResponse {
  readonly seen: SealedState['seen'];
}

export interface SentToKeeper {
  readonly about: Exclude<Stored, 'video'>;
  /** Below the channel's base URL, without a query. */
  readonly path: string;
  /** Undefined: the request has none. */
  readonly body: Uint8Array | undefined;
}

/**
 * Finds what a sealed id of this kind names. Returns undefined if it belongs to another account, or if the channel is
 * no longer available to the key.
 */
export function findKept(
  state: State,
  key: KeyState,
  { id, kind }: SealedId,
): (Kept & { readonly offered: Candidate }) | undefined {
  const opened = sealFor(state, key, '')?.open(id);
  if (opened?.kind !== kind || !isPathSegment(opened.data)) return undefined;
  const offered = offersOf(state, key)
    .flatMap(keepersOf)
    .flat()
    .find(({ target }) => target.id === opened.channel);
  const { data: ownId, images } = opened;
  const seal = offered && sealFor(state, key, offered.target.id, images);
  return seal && { offered, seal, id, ownId, images };
}

/**
 * Finds what a sealed id names on a channel that gets no new calls, or none of this key, if the account's job made it
 * there. Rejects with LedgerUnavailable.
 */
export async function findKeptByJob(
  { state, ledger }: Pick<PipelineDeps, 'state' | 'ledger'>,
  key: KeyState,
  { id, kind }: SealedId,
): Promise<Kept | undefined> {
  const opened = sealFor(state.get(), key, '')?.open(id);
  if (opened?.kind !== kind || !isPathSegment(opened.data)) return undefined;
  const { channel, data: ownId, images } = opened;
  const job = await ledger.readChannelJob(key.account, channel, ownId);
  const [target, seal] = [state.get().targets.get(channel), sealFor(state.get(), key, channel, images)];
  if (!job || !target || !seal || key.models?.has(job.origin.model) === false) return undefined;
  const { origin } = job;
  const offered = { target, limits: channelLimits(state.get(), origin), model: { name: origin.model } };
  return { offered, seal, id, ownId, images };
}

/** The offers of the key's group that the key may use. */
export function offersOf({ groups }: State, { group, models }: KeyState): readonly Offer[] {
  return [...(groups.get(group)?.offers.values() ?? [])].filter(({ model }) => models?.has(model) !== false);
}

/** The offer's channels whose provider serves Responses and keeps their state, by tier. */
export function keepersOf({ tiers }: Pick<Offer, 'tiers'>): readonly (readonly Candidate[])[] {
  return tiers
    .map((tier) => tier.filter(({ target }) => target.endpoints.has('Responses')))
    .filter((tier) => tier.length > 0);
}

/**
 * Returns the provider's response, with its ids sealed again; those that the client has keep their form. Takes
 * limits, and throws the errors of a call.
 */
export function askKeeper(
  deps: PipelineDeps,
  asked: KeptStateRequest,
  keeper: Keeper | Kept,
  sent: SentToKeeper,
): Promise<KeptAnswer> {
  const { about } = sent;
  return exchange(deps, asked, keeper, {
    ...sent,
    stream: false,
    use: async (response) => {
      const { hold } = asked;
      const bytes = await readWholeBody(response, { about, maxBytes: MAX_RESPONSE_BYTES, hold });
      // the body of a response to a deletion may be empty
      if (bytes.length === 0 && response.status === 204) return { response, body: bytes, seen: { state: 'Running' } };
      return { response, ...(await sealed(deps, asked, { keeper, bytes, about })) };
    },
  });
}

export interface Exchange<T> extends SentToKeeper {
  readonly stream: boolean;
  /** Consumes the provider's response while the request counts in the limits. */
  readonly use: (response: UpstreamResponse) => Promise<T>;
}

/** Takes limits. Throws the errors of a call, or ClientDisconnected. Resolves with the result of `use`. */
export async function exchange<T>(
  deps: PipelineDeps,
  asked: KeptStateRequest,
  { offered }: Keeper,
  { about, path, body, stream, use }: Exchange<T>,
): Promise<T> {
  const { requestId, key, headers, method, query, left: signal, attempts } = asked;
  const { target, limits, model } = offered;
  const free = { callId: requestId, dialect: 'OpenAI' } as const;
  return withLimits(deps, free, [...callerLimits(deps.state.get(), key), ...limits], async () => {
    const plan = planRequest(deps, { target }, { headers, account: key.account, stream });
    const request = { method, path: `${path}${query === '' ? '' : `?${query}`}`, body, signal, attempts };
    return use(await sendStoredRequest(deps, plan, { ...request, about, model: model.name }));
  });
}

interface Sealing {
  readonly keeper: Keeper | Kept;
  readonly bytes: Buffer;
  readonly about: SentToKeeper['about'];
}

/** Seals the ids in a body. Throws notAbout if it is no JSON object. */
async function sealed(
  { bodyWorker, state }: Pick<PipelineDeps, 'bodyWorker' | 'state'>,
  { key }: KeptStateRequest,
  { keeper, bytes, about }: Sealing,
): Promise<Pick<KeptAnswer, 'body' | 'seen'>> {
  const known = 'id' in keeper ? new Map([[keeper.ownId, keeper.id]]) : new Map<string, string>();
  const sealing = bytes.length < LARGE_BODY_BYTES ? undefined : sealingContext(state.get(), key, keeper.offered);
  try {
    const { body, seen } = sealing
      ? await bodyWorker.run(key.uid, { task: 'SealState', sealing, known }, bytes)
      : sealState(bytes, keeper.seal, known);
    return { body: Buffer.from(body.buffer, body.byteOffset, body.byteLength), seen };
  } catch (error) {
    if (error instanceof SyntaxError) throw notAbout(about);
    throw error;
  }
}

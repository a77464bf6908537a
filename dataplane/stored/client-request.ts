/**
 * Passes a client's request about a stored response or conversation to the channel that has it. It takes the limits of
 * a call, and fails with the errors of a call.
 */
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import { planRequest } from '../pipeline/channel-call.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { readAs, readWholeBody, sendFree, withLimits } from '../pipeline/free-request.ts';
import type { StoredKind } from '../pipeline/free-request.ts';
import { sealingContext } from '../pipeline/sealing-context.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { sealStored } from '../protocol/openai/stored-object.ts';
import type { SealedObject } from '../protocol/openai/stored-object.ts';
import { callerLimits } from '../state/limits.ts';
import type { KeyState } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import type { BufferedResponse } from './respond.ts';
import type { StoredObject, StoringChannel } from './stored-object.ts';

/** A request of a client, from which its identity and its headers are taken. */
export interface ClientRequest {
  readonly requestId: string;
  readonly key: KeyState;
  /** Of an error before the response has begun. */
  readonly errorDialect: Dialect;
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

/** The same request as the provider gets it. */
export interface ProviderRequest {
  readonly about: Exclude<StoredKind, 'video'>;
  /** Below the channel's base URL, without a query. */
  readonly path: string;
  /** Undefined: the request has none. */
  readonly body: Uint8Array | undefined;
}

/** A response whose body has its ids sealed. */
export interface SealedResponse extends BufferedResponse {
  readonly job: SealedObject['job'];
}

/** Returns the provider's response, with its ids sealed again; those that the client has keep their form. */
export function passRequest(
  deps: PipelineDeps,
  request: ClientRequest,
  at: StoringChannel | StoredObject,
  sent: ProviderRequest,
): Promise<SealedResponse> {
  const { about } = sent;
  return exchange(deps, request, at, {
    ...sent,
    stream: false,
    use: async (response) => {
      const { hold } = request;
      const bytes = await readWholeBody(response, { about, hold });
      // the body of a response to a deletion may be empty
      if (bytes.length === 0 && response.status === 204) return { response, body: bytes, job: { state: 'Running' } };
      return { response, ...(await sealed(deps, request, { at, bytes, about })) };
    },
  });
}

export interface Exchange<T> extends ProviderRequest {
  readonly stream: boolean;
  /** Of the body. Default: application/json. */
  readonly contentType?: string;
  /** Consumes the provider's response while the request counts in the limits. */
  readonly use: (response: UpstreamResponse) => Promise<T>;
}

/** Throws the errors of a call, or ClientDisconnected. Resolves with the result of `use`. */
export function exchange<T>(
  deps: PipelineDeps,
  request: ClientRequest,
  at: Pick<StoringChannel, 'channel'>,
  { use, ...sent }: Exchange<T>,
): Promise<T> {
  const { method, query } = request;
  return exchanges(deps, request, at, async (send) => use(await send({ ...sent, method, query })));
}

export interface ChannelExchange extends Omit<Exchange<never>, 'use'> {
  readonly method: ClientRequest['method'];
  /** Without its question mark. */
  readonly query?: string;
}

/** Runs work that sends requests to the channel, which count in the limits as one. Throws as `exchange` does. */
export function exchanges<T>(
  deps: PipelineDeps,
  request: ClientRequest,
  at: Pick<StoringChannel, 'channel'>,
  work: (send: SendToChannel) => Promise<T>,
): Promise<T> {
  const { requestId, key, errorDialect } = request;
  const free = { callId: requestId, dialect: errorDialect };
  const limits = [...callerLimits(deps.state.get(), key), ...at.channel.limits];
  return withLimits(deps, free, limits, () => work(senderTo(deps, request, at)));
}

export type SendToChannel = (sent: ChannelExchange) => Promise<UpstreamResponse>;

/** Sends requests to the channel once the limits were taken. */
export function senderTo(
  deps: PipelineDeps,
  { key, headers, left: signal, attempts }: ClientRequest,
  { channel: { target, model } }: Pick<StoringChannel, 'channel'>,
): SendToChannel {
  return ({ path, query = '', stream, ...sent }) => {
    const plan = planRequest(deps, { target }, { headers, account: key.account, stream });
    const whole = query === '' ? path : `${path}?${query}`;
    return sendFree(deps, plan, { ...sent, path: whole, signal, attempts, model: model.name });
  };
}

interface Sealing {
  readonly at: StoringChannel | StoredObject;
  readonly bytes: Buffer;
  readonly about: ProviderRequest['about'];
}

/** Seals the ids in a body. Throws notAbout if it is no JSON object. */
async function sealed(
  { bodyWorker, state }: Pick<PipelineDeps, 'bodyWorker' | 'state'>,
  { key }: ClientRequest,
  { at, bytes, about }: Sealing,
): Promise<Pick<SealedResponse, 'body' | 'job'>> {
  const known = 'sealedId' in at ? new Map([[at.providerId, at.sealedId]]) : new Map<string, string>();
  const sealing = bytes.length < LARGE_BODY_BYTES ? undefined : sealingContext(state.get(), key, at.channel, at.images);
  const { body, job } = await readAs(about, () =>
    sealing
      ? bodyWorker.run(key.uid, { task: 'SealStored', sealing, known }, bytes)
      : sealStored(bytes, at.seal, known),
  );
  return { body: Buffer.from(body.buffer, body.byteOffset, body.byteLength), job };
}

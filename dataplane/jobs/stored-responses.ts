/**
 * Forwards a client's requests about responses that a provider stores: retrieval, deletion, cancellation, input items.
 * The id that the gateway sealed names the channel that made the response, and only calls of the same account can open
 * it.
 */
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { sealFor } from '../pipeline/sealing-context.ts';
import { ResponseSeals, RESPONSE_ID } from '../protocol/openai/response-seals.ts';
import { parseObject } from '../protocol/json-value.ts';
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import type { Candidate, KeyState, State } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { requestHeaders } from '../upstream/headers.ts';
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';
import { invalidJobResponse, readWholeBody, sendToChannel, withSlots } from './channel-request.ts';
import type { BufferedResponse } from './videos.ts';

export interface StoredResponseRequest {
  readonly requestId: string;
  readonly key: KeyState;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The sealed id that the client was given. */
  readonly id: string;
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** The path after the id, such as "/cancel"; empty for the response itself. */
  readonly below: string;
  /** The client's query, without its question mark. */
  readonly query: string;
  /** Aborts when the client disconnects. */
  readonly left: AbortSignal;
  readonly attempts: AttemptReport[];
}

/** Large, because a response may contain images. */
const MAX_BYTES = 64 * 1024 * 1024;
const ABOUT = 'response';

const NOT_KEPT = 'This account has no such response here: only a response that its provider keeps can be asked for, by '
  + 'the id that its call answered. Read the answer of POST /v1/responses itself, and send whole conversations in '
  + '"input".';

/**
 * Returns the provider's response, with its ids sealed again. Throws not_found if the response belongs to another
 * account or its channel is no longer available to the key, and the errors of a call.
 */
export async function askForResponse(deps: PipelineDeps, asked: StoredResponseRequest): Promise<BufferedResponse> {
  const { requestId, key, id, method, below, query, left, attempts } = asked;
  const { offered, seal, ownId } = findResponse(deps.state.get(), key, id);
  const { target, route, slots, model } = offered;
  const path = `/responses/${encodeURIComponent(ownId)}${below}${query === '' ? '' : `?${query}`}`;
  const { 'content-type': _type, ...headers } = requestHeaders(asked.headers, target.clientHeaders);
  const request: UpstreamRequest = { method, path, headers, body: undefined, stream: false, signal: left };
  const at = { route, channel: target.id.slice(route.length + 1), target };
  return withSlots(deps, requestId, key.slot ? [key.slot, ...slots] : slots, async () => {
    const response = await sendToChannel(deps, {
      callId: requestId, model: model.name, at, about: ABOUT, attempts, request,
    });
    const body = await readWholeBody(response, { about: ABOUT, maxBytes: MAX_BYTES });
    return { response, body: sealBody(response, body, new ResponseSeals(seal, new Map([[ownId, id]]))) };
  });
}

/** Seals the ids in a body. The body of a response to a deletion may be empty. */
function sealBody({ status }: UpstreamResponse, body: Buffer, seals: ResponseSeals): Buffer {
  if (body.length === 0 && status === 204) return body;
  try {
    return Buffer.from(seals.apply(body, parseObject(body)));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalidJobResponse(ABOUT);
    throw error;
  }
}

interface FoundResponse {
  readonly offered: Candidate;
  readonly seal: ChannelSeal;
  /** The id that the provider gave. */
  readonly ownId: string;
}

function findResponse(state: State, key: KeyState, id: string): FoundResponse {
  const opened = sealFor(state, key, '')?.open(id);
  const offered = opened?.kind === RESPONSE_ID ? channelOf(state, key, opened.channel) : undefined;
  const seal = offered && sealFor(state, key, offered.target.id);
  if (!opened || !offered || !seal) throw new GatewayError('not_found', NOT_KEPT);
  return { offered, seal, ownId: opened.data };
}

/** The channel, if the key's group still has it and its provider serves stored responses. */
function channelOf({ groups }: State, { group, models }: KeyState, channel: string): Candidate | undefined {
  const offers = [...groups.get(group)?.offers.values() ?? []].filter(({ model }) => models?.has(model) !== false);
  return offers.flatMap(({ tiers }) => tiers.flat())
    .find(({ target }) => target.id === channel && target.endpoints.has('Responses'));
}

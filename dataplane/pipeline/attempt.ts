/**
 * Makes one attempt at one channel: converts the request, sends it, and waits for the response's headers, and for the
 * first chunk of a stream. A failure is returned as a value, so that the next channel can be tried.
 */
import type { Converter, ProviderError, UpstreamBody } from '../protocol/converter.ts';
import { readConverseError } from '../protocol/converse/errors.ts';
import { betaLabel } from '../protocol/platforms/betas.ts';
import { DROPPED_BETA, toPlatformHeaders, toPlatformPath } from '../protocol/platforms/platform-request.ts';
import type { PlatformPlan } from '../protocol/platforms/platform-request.ts';
import { readProviderError } from '../protocol/provider-errors.ts';
import type { Provider } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';
import { UpstreamFailure, connectErrorOf } from '../upstream/upstream.ts';
import type { UpstreamFailureKind, UpstreamResponse } from '../upstream/upstream.ts';
import { requestHeaders } from '../upstream/headers.ts';
import { sessionOf } from './affinity.ts';
import type { Admitted, Answered, CallRecord, PipelineDeps } from './context.ts';
import { platformPlanOf } from './platform-plan.ts';
import { clientErrorOf } from './route.ts';
import { sealingContext } from './sealing-context.ts';

export type AttemptResult = { readonly kind: 'Answered'; readonly answered: Answered } | AttemptFailure;

export type AttemptFailure =
  /** The provider answered with an error status. */
  | {
      readonly kind: 'Refused';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly error: ProviderError;
      /** What the client is told, if the provider reported the error in a response with status 200. */
      readonly says?: string;
      /** The provider may have begun a job that its response does not name. */
      readonly mayBeJob?: true;
    }
  /** There was no response, or its first chunk did not come. */
  | { readonly kind: 'Broken'; readonly failure: UpstreamFailureKind; readonly connectError?: string };

/** The client disconnected before the provider answered. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected';
}

/** The most bytes that are read of a provider's error response. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Throws GatewayError (unsupported_parameter) if the channel's protocol cannot express the request. */
export async function attempt(deps: PipelineDeps, admitted: Admitted, record: CallRecord): Promise<AttemptResult> {
  const {
    candidate,
    routed: { call },
  } = admitted;
  const { id: channel, protocol } = candidate.target;
  const startedAt = deps.clock.monotonicMs();
  const converter = call.converter(candidate);
  if (!converter) throw new Error('the call was routed to a candidate that cannot serve its endpoint');
  const given = requestHeaders(admitted.routed.received.headers, {
    allowed: candidate.target.clientHeaders,
    account: admitted.routed.key.account,
  });
  const platform = platformPlanOf(candidate, { stream: call.stream, headers: given });
  const request = await convertRequest(deps, admitted, { converter, platform });
  const headers = toPlatformHeaders(given, platform);
  record.sent = true;
  const result = await send(deps, { admitted, converter, request, headers, record });
  const durationMs = deps.clock.monotonicMs() - startedAt;
  const droppedBetas = droppedBetasOf(request);
  record.attempts.push({
    channel,
    protocol,
    outcome: outcomeLabel(result),
    durationMs,
    ...(droppedBetas.length > 0 && { droppedBetas }),
  });
  return result;
}

function droppedBetasOf({ dropped = [] }: UpstreamBody): readonly string[] {
  return dropped
    .filter((name) => name.startsWith(DROPPED_BETA))
    .map((name) => betaLabel(name.slice(DROPPED_BETA.length)));
}

interface ConvertedCall {
  readonly admitted: Admitted;
  readonly converter: Converter;
  readonly request: UpstreamBody;
  /** The client's headers that are forwarded. */
  readonly headers: Record<string, string>;
  readonly record: CallRecord;
}

async function send(deps: PipelineDeps, sent: ConvertedCall): Promise<AttemptResult> {
  const { admitted, converter, request, headers, record } = sent;
  const {
    candidate: { target },
    routed: { call },
  } = admitted;
  const { path, body, contentType = 'application/json', notes, dropped } = request;
  headers['content-type'] = contentType;
  try {
    const response = await deps.upstreams.send(target, {
      method: 'POST',
      path,
      headers,
      body,
      stream: call.stream,
      signal: record.abort.signal,
    });
    if (!isAnswer(response.status)) {
      record.sent = false;
      // Bedrock's own errors may come before its protocol's server has read the request
      const { readError } = providerOf(target.protocol);
      return await readErrorResponse(response, target.platform === 'BedrockInvoke' ? readConverseError : readError);
    }
    const ready = call.stream ? await afterFirstPiece(response) : response;
    return { kind: 'Answered', answered: { admitted, converter, notes, dropped, response: ready } };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    // after a cancellation the provider may continue and charge for the call; after a failure of its own it does not
    record.sent = error.sent && error.kind === 'Aborted';
    record.timedOut = error.timedOut;
    return {
      kind: 'Broken',
      failure: error.kind,
      ...((error.kind === 'Connect' || error.kind === 'SignIn') && { connectError: connectErrorOf(error) }),
    };
  }
}

/** A 204 or 205 has no body, so it does not count as success. */
function isAnswer(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205;
}

async function convertRequest(
  { state }: PipelineDeps,
  { candidate, routed, outputLimit }: Admitted,
  { converter, platform }: { readonly converter: Converter; readonly platform: PlatformPlan | undefined },
): Promise<UpstreamBody> {
  const {
    call,
    received: { body },
  } = routed;
  try {
    const sent = await body.convert(converter, candidate.target.protocol, {
      upstreamModel: candidate.upstreamModel,
      maxOutputTokens: call.output ? outputLimit : undefined,
      stream: call.stream,
      outputLimitField: candidate.model.outputLimitField,
      capabilities: candidate.model.capabilities,
      providerTools: candidate.model.providerTools,
      session: sessionOf(routed.received),
      sealing: sealingContext(state.get(), routed.key, candidate),
      platform,
    });
    return { ...sent, path: toPlatformPath(sent.path, platform) };
  } catch (error) {
    throw clientErrorOf(error);
  }
}

/** Waits for a stream's first chunk, and returns a response whose body begins with it. */
async function afterFirstPiece({ status, headers, body }: UpstreamResponse): Promise<UpstreamResponse> {
  const iterator = body[Symbol.asyncIterator]();
  const first = await iterator.next();
  let pending: IteratorResult<Uint8Array> | undefined = first;
  return {
    status,
    headers,
    body: {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (!pending) return iterator.next();
          const result = pending;
          pending = undefined;
          return Promise.resolve(result);
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }),
    },
  };
}

/** Reads a provider's error response with the `readError` of its protocol. */
export async function readErrorResponse(
  { status, headers, body }: UpstreamResponse,
  readError: Provider['readError'] = readProviderError,
): Promise<AttemptFailure> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.length;
      if (size >= MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    // the status is enough; the message may be incomplete
    if (!(error instanceof UpstreamFailure)) throw error;
  }
  const text = Buffer.concat(pieces).subarray(0, MAX_ERROR_BYTES);
  const error = readError(status, text);
  const { retryAfterSeconds: seconds } = error;
  return {
    kind: 'Refused',
    status: error.status ?? status,
    error,
    headers: seconds === undefined ? headers : { 'retry-after': String(seconds), ...headers },
  };
}

function outcomeLabel(result: AttemptResult): string {
  switch (result.kind) {
    case 'Answered':
      return 'ok';
    case 'Refused':
      return `status_${result.status}`;
    case 'Broken':
      return result.failure.toLowerCase();
  }
}

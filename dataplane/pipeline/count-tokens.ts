/**
 * Counts a request's input tokens through a provider that can count, and otherwise with the gateway's own tokenizer.
 * Counting costs nothing, so no money is held, but it counts in limits of calls.
 */
import { toPlatformHeaders, toPlatformPath } from '../protocol/platforms/platform-request.ts';
import type { CountedDialect, TokenCounter } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';
import { NO_TOKENS_LOAD, REQUEST_CONSUMED } from '../ledger/load.ts';
import { callerLimits } from '../state/limits.ts';
import type { Candidate } from '../state/state.ts';
import { SKIPPED } from '../telemetry/call-report.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { collectUpTo } from '../upstream/collect.ts';
import { requestHeaders } from '../upstream/headers.ts';
import { classify, isRouteFault } from '../upstream/retry.ts';
import { namesOf, UpstreamFailure } from '../upstream/upstream.ts';
import type { Authenticated, PipelineDeps, Routed } from './context.ts';
import { CHANNEL_SCOPES } from './admit.ts';
import { platformPlanOf } from './platform-plan.ts';
import { callerIsFull } from './failures.ts';
import { clientErrorOf, route } from './route.ts';
import { sealingContext } from './sealing-context.ts';

export interface TokenCount {
  readonly model: string;
  readonly inputTokens: number;
  /** True if the gateway estimated because no provider counted. */
  readonly estimated: boolean;
}

/** The most bytes of a response with a count. */
const MAX_COUNT_BYTES = 64 * 1024;
/** How many tokens providers usually add to each message or tool, and to each call. */
const TOKENS_PER_UNIT = 4;
const TOKENS_PER_CALL = 3;

/**
 * Throws GatewayError if the request would also be refused as a call. Adds each provider that was asked to `attempts`.
 */
export async function countTokens(
  deps: PipelineDeps,
  authenticated: Authenticated,
  { dialect, attempts }: { readonly dialect: CountedDialect; readonly attempts: AttemptReport[] },
): Promise<TokenCount> {
  const routed = await route(deps, authenticated);
  const { model } = routed.call;
  await takeCallerLimits(deps, routed);
  try {
    const inputTokens = await countAtProviders(deps, { routed, dialect, attempts });
    if (inputTokens !== undefined) return { model, inputTokens, estimated: false };
    return { model, inputTokens: await estimate(deps, routed, dialect), estimated: true };
  } finally {
    deps.ledger.release(routed.received.requestId, REQUEST_CONSUMED);
  }
}

async function takeCallerLimits({ ledger, state, clock }: PipelineDeps, { key, received }: Routed): Promise<void> {
  const limits = callerLimits(state.get(), key);
  if (limits.length === 0) return;
  const result = await ledger.take(received.requestId, limits, NO_TOKENS_LOAD);
  if (result.outcome === 'Full') throw callerIsFull(result, { dialect: received.dialect, nowMs: clock.nowMs() });
}

interface CountedCall {
  readonly routed: Routed;
  readonly dialect: CountedDialect;
  readonly attempts: AttemptReport[];
}

async function countAtProviders(
  deps: PipelineDeps,
  { routed, dialect, attempts }: CountedCall,
): Promise<number | undefined> {
  for (const candidate of routed.candidates) {
    const { id: channel, protocol } = candidate.target;
    const tokenCounter = counterAt(routed, candidate, dialect);
    if (!tokenCounter) continue;
    const startedAt = deps.clock.monotonicMs();
    const count = await countWithLimits(deps, { routed, candidate, dialect, tokenCounter });
    const outcome = typeof count === 'string' ? count : 'ok';
    attempts.push({ channel, protocol, outcome, durationMs: deps.clock.monotonicMs() - startedAt });
    if (typeof count === 'number') return count;
  }
  return undefined;
}

/** Returns undefined if the provider has no such endpoint, or another API of it serves the call. */
function counterAt({ call }: Routed, candidate: Candidate, dialect: CountedDialect): TokenCounter | undefined {
  const { protocol, endpoints } = candidate.target;
  const serves = dialect === 'Responses' ? endpoints.has('Responses') : call.converter(candidate)?.api === 'Responses';
  if ((dialect === 'Responses' || protocol === 'OpenAI') && !serves) return undefined;
  return providerOf(protocol).tokenCounters?.[dialect];
}

interface CountRequest {
  readonly routed: Routed;
  readonly candidate: Candidate;
  readonly dialect: CountedDialect;
  readonly tokenCounter: TokenCounter;
}

/** Returns the count, or the outcome label of an attempt without one. */
async function countWithLimits(deps: PipelineDeps, request: CountRequest): Promise<number | string> {
  const {
    routed: {
      received: { requestId },
    },
    candidate: { limits },
  } = request;
  if (limits.length > 0 && (await deps.ledger.take(requestId, limits, NO_TOKENS_LOAD)).outcome === 'Full')
    return SKIPPED.Full;
  try {
    return await countAt(deps, request);
  } finally {
    deps.ledger.release(requestId, REQUEST_CONSUMED, CHANNEL_SCOPES);
  }
}

async function countAt(
  deps: PipelineDeps,
  { routed, candidate, dialect, tokenCounter }: CountRequest,
): Promise<number | string> {
  const { received } = routed;
  const { target, upstreamModel } = candidate;
  const given = requestHeaders(received.headers, { allowed: target.clientHeaders, account: routed.key.account });
  const platform = platformPlanOf(candidate, { stream: false, headers: given });
  const headers = toPlatformHeaders(given, platform);
  const { path, body: request } = await received.body
    .countRequest(
      tokenCounter,
      { protocol: target.protocol, dialect },
      {
        upstreamModel,
        sealing: sealingContext(deps.state.get(), routed.key, candidate),
        platform,
      },
    )
    .catch((error: unknown) => {
      throw clientErrorOf(error);
    });
  headers['content-type'] = 'application/json';
  try {
    const response = await deps.upstreams.send(target, {
      method: 'POST',
      path: toPlatformPath(path, platform),
      body: request,
      stream: false,
      signal: received.reply.left,
      headers,
    });
    const body = await collectUpTo(response.body, MAX_COUNT_BYTES);
    if (response.status === 200) return tokenCounter.read(body) ?? 'cut';
    // a 404 means that the endpoint is missing, not that the model's name is wrong
    if (isRouteFault(classify({ status: response.status })) && response.status !== 404)
      deps.warn({ ...namesOf(target), status: response.status });
    return `status_${response.status}`;
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.kind.toLowerCase();
    throw error;
  }
}

/** Counts texts with the tokenizer, and takes the model's imageTokens for each image or document. */
async function estimate(
  { tokenizer }: PipelineDeps,
  { received, candidates, key }: Routed,
  dialect: CountedDialect,
): Promise<number> {
  const { texts, units, images, files } = await received.body.texts(dialect);
  const imageTokens = candidates[0]?.model.imageTokens ?? 0;
  const tokens = await tokenizer.count(key.uid, texts);
  return tokens + units * TOKENS_PER_UNIT + TOKENS_PER_CALL + (images + files) * imageTokens;
}

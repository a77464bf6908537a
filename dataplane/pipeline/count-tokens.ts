/**
 * Counts a request's input tokens through a provider that can count, and otherwise with the gateway's own tokenizer.
 * Counting costs nothing, so no money is held, but it counts in limits of calls.
 */
import type { PlatformPlan } from '../protocol/platforms/platform-request.ts';
import type { CountedDialect, TokenCounter } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';
import type { UpstreamBody } from '../protocol/converter.ts';
import { REQUEST_CONSUMED } from '../ledger/load.ts';
import { callerLimits } from '../state/limits.ts';
import type { Candidate } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { collectUpTo } from '../upstream/collect.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { releaseChannel } from './admit.ts';
import { correctReport, planRequest, reportSkipped, sendToChannel, warnOfFailure } from './channel-call.ts';
import type { Authenticated, PipelineDeps, Routed } from './context.ts';
import { ClientDisconnected } from './failures.ts';
import type { AttemptFailure } from './failures.ts';
import { takeLimits, withLimits } from './free-request.ts';
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
  const {
    key,
    call: { model },
    received: { requestId, errorDialect },
  } = routed;
  const limits = callerLimits(deps.state.get(), key);
  return withLimits(deps, { callId: requestId, dialect: errorDialect }, limits, async () => {
    const inputTokens = await countAtProviders(deps, { routed, dialect, attempts });
    if (inputTokens !== undefined) return { model, inputTokens, estimated: false };
    return { model, inputTokens: await estimate(deps, routed, dialect), estimated: true };
  });
}

interface CountedCall {
  readonly routed: Routed;
  readonly dialect: CountedDialect;
  readonly attempts: AttemptReport[];
}

async function countAtProviders(deps: PipelineDeps, counted: CountedCall): Promise<number | undefined> {
  const { routed, dialect } = counted;
  for (const candidate of routed.candidates) {
    const tokenCounter = counterAt(routed, candidate, dialect);
    const count = tokenCounter && (await countWithLimits(deps, { ...counted, candidate, tokenCounter }));
    if (count !== undefined) return count;
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

interface CountRequest extends CountedCall {
  readonly candidate: Candidate;
  readonly tokenCounter: TokenCounter;
}

/** Undefined: the channel is full, or its provider did not count. */
async function countWithLimits(deps: PipelineDeps, request: CountRequest): Promise<number | undefined> {
  const { routed, candidate, attempts } = request;
  const { requestId } = routed.received;
  if (await takeLimits(deps, requestId, candidate.limits)) {
    reportSkipped(attempts, candidate.target, 'Full');
    return undefined;
  }
  try {
    return await countAt(deps, request);
  } finally {
    releaseChannel(deps, requestId, REQUEST_CONSUMED);
  }
}

async function countAt(deps: PipelineDeps, request: CountRequest): Promise<number | undefined> {
  const {
    routed: { received, key },
    candidate,
    attempts,
  } = request;
  const plan = planRequest(deps, candidate, { headers: received.headers, account: key.account, stream: false });
  const { path, body } = await writeCount(deps, request, plan.platform);
  const sent = { method: 'POST', path, body, signal: received.reply.left, attempts, needsContent: true } as const;
  const result = await sendToChannel(deps, plan, sent);
  if (!('kind' in result)) return readCount(result, request);
  noteFailure(deps, candidate, result);
  return undefined;
}

function writeCount(
  { state }: PipelineDeps,
  { routed: { received, key }, candidate, dialect, tokenCounter }: CountRequest,
  platform: PlatformPlan | undefined,
): Promise<UpstreamBody> {
  const { target, upstreamModel } = candidate;
  const sealing = sealingContext(state.get(), key, candidate);
  return received.body
    .countRequest(tokenCounter, { protocol: target.protocol, dialect }, { upstreamModel, sealing, platform })
    .catch((error: unknown) => {
      throw clientErrorOf(error);
    });
}

/** A 404 means that the endpoint is missing, not that the model's name is wrong. Throws ClientDisconnected. */
function noteFailure(deps: PipelineDeps, { target }: Candidate, failure: AttemptFailure): void {
  if (failure.kind === 'Broken' && failure.failure === 'Aborted') throw new ClientDisconnected();
  if (failure.kind === 'Broken' || failure.status !== 404) warnOfFailure(deps, target, failure);
}

/** Undefined: the response holds no count, which the attempt's report then says. */
async function readCount(
  { body }: UpstreamResponse,
  { tokenCounter, attempts }: CountRequest,
): Promise<number | undefined> {
  try {
    const count = tokenCounter.read(await collectUpTo(body, MAX_COUNT_BYTES));
    if (count === undefined) correctReport(attempts, 'cut');
    return count;
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    if (error.kind === 'Aborted') throw new ClientDisconnected();
    correctReport(attempts, error.kind.toLowerCase());
    return undefined;
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

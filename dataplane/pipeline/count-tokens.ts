/**
 * Counting a request's input tokens: free, so no money is held, but slots are taken. A provider that can count is asked; for any
 * other, and where none of them answers, the gateway estimates.
 */
import { collectTexts } from '../protocol/anthropic/count-texts.ts';
import type { TokenCounter } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';
import type { Candidate } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { requestHeaders } from '../upstream/headers.ts';
import { classify } from '../upstream/retry.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { Authenticated, PipelineDeps, Routed } from './context.ts';
import { keyIsFull } from './failures.ts';
import { route } from './route.ts';

export interface CountDeps extends PipelineDeps {
  /** Tokens of texts, by a tokenizer; it always answers. */
  readonly tokenizer: { count(texts: readonly string[]): Promise<number> };
}

export interface Counted {
  readonly model: string;
  readonly inputTokens: number;
  /** No provider counted. */
  readonly estimated: boolean;
}

/** A count is small; what is longer is none. */
const COUNT_BYTES = 64 * 1024;
/** What providers put around a message or a tool, and around a call. */
const TOKENS_PER_UNIT = 4;
const TOKENS_PER_CALL = 3;

/** Throws GatewayError for requests that could not be made either. `attempts` is told of each provider that was asked, and why it did not count. */
export async function countTokens(deps: CountDeps, authenticated: Authenticated, attempts: AttemptReport[]): Promise<Counted> {
  const routed = route(deps, authenticated);
  const { model } = routed.call;
  await takeKeySlot(deps, routed);
  try {
    const said = await askProviders(deps, routed, attempts);
    return said === undefined ? { model, inputTokens: await estimate(deps, routed), estimated: true } : { model, inputTokens: said, estimated: false };
  } finally {
    deps.ledger.releaseSlots(routed.requestId);
  }
}

async function takeKeySlot({ ledger }: CountDeps, { key, requestId }: Routed): Promise<void> {
  if (!key.slot) return;
  const result = await ledger.takeSlots(requestId, [key.slot]);
  if (result.outcome === 'Full') throw keyIsFull(result.full);
}

async function askProviders(deps: CountDeps, routed: Routed, attempts: AttemptReport[]): Promise<number | undefined> {
  for (const candidate of routed.candidates) {
    const { id: channel, protocol } = candidate.target;
    const { tokenCounter } = providerOf(protocol);
    if (!tokenCounter) continue;
    const startedAt = deps.clock.monotonicMs();
    const said = await askWithSlots(deps, { routed, candidate, tokenCounter });
    attempts.push({ channel, protocol, outcome: typeof said === 'string' ? said : 'ok', durationMs: deps.clock.monotonicMs() - startedAt });
    if (typeof said === 'number') return said;
  }
  return undefined;
}

interface Asked {
  readonly routed: Routed;
  readonly candidate: Candidate;
  readonly tokenCounter: TokenCounter;
}

async function askWithSlots(deps: CountDeps, asked: Asked): Promise<number | string> {
  const { routed, candidate } = asked;
  const { requestId } = routed;
  if (candidate.slots.length > 0 && (await deps.ledger.takeSlots(requestId, candidate.slots)).outcome === 'Full') return 'full';
  try {
    return await ask(deps, asked);
  } finally {
    deps.ledger.releaseSlots(requestId, ['Group', 'Channel']);
  }
}

/** The count, or what came instead, in an attempt's words. */
async function ask(deps: CountDeps, { routed, candidate: { target, upstreamModel, route: routeName }, tokenCounter }: Asked): Promise<number | string> {
  const { path, body: request } = tokenCounter.request(routed.body.bytes, routed.body.parse(), { upstreamModel });
  try {
    const response = await deps.upstreams.send(target, {
      method: 'POST', path, body: request, stream: false,
      signal: routed.reply.left,
      headers: { ...requestHeaders(routed.headers, target.foreignHeaders), 'content-type': 'application/json' },
    });
    const body = await collect(response.body);
    if (response.status === 200) return tokenCounter.read(body) ?? 'cut';
    // providers that have no such endpoint say 404: the model's name may be right all the same
    if (classify({ status: response.status }) === 'credential' && response.status !== 404)
      deps.warn({ route: routeName, channel: target.id.slice(routeName.length + 1), status: response.status });
    return `status_${response.status}`;
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.kind.toLowerCase();
    throw error;
  }
}

/** The texts by a tokenizer, pictures and documents at the model's bound of an image, and what is usually around them. */
async function estimate({ tokenizer }: CountDeps, { body, candidates }: Routed): Promise<number> {
  const { texts, units, images, files } = collectTexts(body.parse());
  const imageTokens = candidates[0]?.model.imageTokens ?? 0;
  return await tokenizer.count(texts) + units * TOKENS_PER_UNIT + TOKENS_PER_CALL + (images + files) * imageTokens;
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    pieces.push(piece);
    size += piece.length;
    if (size > COUNT_BYTES) break;
  }
  return Buffer.concat(pieces);
}

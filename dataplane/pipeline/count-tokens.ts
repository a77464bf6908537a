/**
 * Counting a request's input tokens: free, so no money is held; a slot is taken where a provider is asked. A provider that
 * speaks Anthropic's protocol counts itself; for any other the gateway estimates.
 */
import type { SlotLimit } from '../ledger/ledger.ts';
import { isRecord } from '../protocol/fields.ts';
import { editObject } from '../protocol/json-edit.ts';
import { readTokenCount } from '../protocol/usage.ts';
import type { Candidate } from '../state/state.ts';
import { requestHeaders } from '../upstream/headers.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { Authenticated, PipelineDeps, Routed } from './context.ts';
import { route } from './route.ts';

/** A count is small; what is longer is none. */
const COUNT_BYTES = 64 * 1024;

/** The provider's count, or the estimate where none can be had. Throws GatewayError for requests that could not be made either. */
export async function countTokens(deps: PipelineDeps, authenticated: Authenticated): Promise<number> {
  const routed = route(deps, authenticated);
  for (const candidate of routed.candidates) {
    if (candidate.target.protocol !== 'Anthropic') continue;
    const counted = await withSlots(deps, routed, candidate, () => ask(deps, routed, candidate));
    if (counted !== undefined) return counted;
  }
  const [first] = routed.candidates;
  return first ? routed.call.estimateInput(first) : 0;
}

async function withSlots<T>(deps: PipelineDeps, routed: Routed, candidate: Candidate, work: () => Promise<T>): Promise<T | undefined> {
  const slots: readonly SlotLimit[] = routed.key.slot ? [routed.key.slot, ...candidate.slots] : candidate.slots;
  try {
    if (slots.length > 0 && (await deps.ledger.takeSlots(routed.requestId, slots)).outcome === 'Full') return undefined;
    return await work();
  } finally {
    deps.ledger.releaseSlots(routed.requestId);
  }
}

/** Undefined: this channel does not answer with a count. */
async function ask(deps: PipelineDeps, routed: Routed, { target, upstreamModel }: Candidate): Promise<number | undefined> {
  const rename = upstreamModel === routed.call.model ? new Map<string, string>() : new Map([['model', JSON.stringify(upstreamModel)]]);
  try {
    const response = await deps.upstreams.send(target, {
      method: 'POST', path: '/v1/messages/count_tokens', body: editObject(routed.body.bytes, rename), stream: false,
      signal: routed.reply.left,
      headers: { ...requestHeaders(routed.headers, target.protocol), 'content-type': 'application/json' },
    });
    const body = await collect(response.body);
    return response.status === 200 ? readCount(body) : undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
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

function readCount(body: Buffer): number | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isRecord(value) ? readTokenCount(value['input_tokens']) : undefined;
  } catch {
    return undefined;
  }
}

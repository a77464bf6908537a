/** Writes the response itself, which the first and the last events of a stream hold as well. */
import type { ReportedUsage } from '../../converter.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeRepeatedFields } from '../../openai/repeated-fields.ts';
import type { ResponseWriteContext } from '../client.ts';
import { SERVICE_TIERS } from './table.ts';

export interface ResponseBody {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly model: string;
  /** The items that are done, as JSON. */
  readonly output: string;
  readonly usage: ReportedUsage;
  /** Why it ended early. */
  readonly incomplete?: string | undefined;
  readonly error?: JsonRecord;
}

export function writeBody(context: ResponseWriteContext, body: ResponseBody): string {
  const { status, model, output, usage, incomplete, error } = body;
  const isEnded = status === 'completed' || status === 'incomplete';
  const head = JSON.stringify({
    id: `resp_${idSuffix(context.id)}`,
    object: 'response',
    created_at: context.createdSeconds,
    completed_at: status === 'completed' ? context.nowSeconds() : null,
    status,
    model,
    error: error ?? null,
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    usage: isEnded ? writeUsage(usage) : null,
    service_tier: tierOf(body),
  });
  return `${head.slice(0, -1)},${context.notes?.repeated ?? writeRepeatedFields({})},"output":${output}}`;
}

/** Until the provider has said which tier serves it, it is open; one that never says serves the default. */
function tierOf({ status, usage }: ResponseBody): string {
  const served = SERVICE_TIERS.values.get(usage.serviceTier ?? '');
  return served ?? (status === 'in_progress' ? 'auto' : 'default');
}

/** The request's id without its prefix. */
export function idSuffix(id: string): string {
  return id.replace(/^(?:req|chatcmpl|msg)[-_]/, '');
}

/** Input tokens include those that were read from the cache and written to it. */
function writeUsage({
  input = 0,
  cached = 0,
  cacheWrite5m = 0,
  cacheWrite1h = 0,
  output = 0,
  details,
}: ReportedUsage): JsonRecord {
  const written = cacheWrite5m + cacheWrite1h;
  const all = input + cached + written;
  return {
    input_tokens: all,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: details?.reasoning ?? 0 },
    total_tokens: all + output,
  };
}

/**
 * What one finished call adds to the metrics.
 */
import type { TokenCounts } from '../ledger/usage-record.ts';
import type { AttemptReport, CallReport, EndpointName } from './call-report.ts';
import { usd } from './recorder.ts';
import type { Recorder } from './recorder.ts';

/** OpenTelemetry's names of operations; endpoints that are not here call no model. */
const OPERATIONS: Readonly<Partial<Record<EndpointName, string>>> = {
  chat_completions: 'chat',
  messages: 'chat',
  embeddings: 'embeddings',
  images: 'generate_content',
  videos: 'generate_content',
};

const PROVIDERS = { OpenAI: 'openai', Anthropic: 'anthropic' } as const;

const TOKEN_TYPES: readonly (readonly [keyof TokenCounts, string])[] = [
  ['input', 'input'], ['cached', 'cached'], ['cacheWrite5m', 'cache_write_5m'], ['cacheWrite1h', 'cache_write_1h'], ['output', 'output'],
];

/** Outcomes of attempts that never left the gateway. */
const NOT_SENT = new Set(['full', 'short']);

/** Adds a finished call to all metrics that it concerns. */
export function observeCall(recorder: Recorder, report: CallReport): void {
  const { endpoint, dialect, httpStatus, errorCode, stream, durationMs } = report;
  recorder.add('modelgateway_requests_total', { endpoint, dialect, status: String(httpStatus), error_code: errorCode ?? '' }, 1);
  recorder.observe('modelgateway_request_duration_seconds', { endpoint, stream: String(stream) }, durationMs / 1000);
  observeAttempts(recorder, report.attempts);
  observeBilling(recorder, report);
  observeGenAi(recorder, report);
}

function observeAttempts(recorder: Recorder, attempts: readonly AttemptReport[]): void {
  let sent = 0;
  for (const { channel, outcome, durationMs } of attempts) {
    recorder.add('modelgateway_upstream_attempts_total', { channel, outcome }, 1);
    if (NOT_SENT.has(outcome)) continue;
    recorder.observe('modelgateway_upstream_attempt_duration_seconds', { channel }, durationMs / 1000);
    if (++sent > 1) recorder.add('modelgateway_upstream_retries_total', { channel }, 1);
  }
}

/** Adds what a call cost to the metrics of money and tokens. */
export function observeBilling(recorder: Recorder, { billing, model = '', group = '' }: Pick<CallReport, 'billing' | 'model' | 'group'>): void {
  if (!billing) return;
  const { status, tokens, usageSource, costNanoUsd, unbilledNanoUsd } = billing;
  recorder.add('modelgateway_calls_total', { model, group, call_status: status, usage_source: usageSource }, 1);
  recorder.add('modelgateway_cost_usd_total', { model, group }, usd(costNanoUsd));
  if (unbilledNanoUsd > 0n) recorder.add('modelgateway_unbilled_usd_total', { model, group }, usd(unbilledNanoUsd));
  for (const [field, token_type] of TOKEN_TYPES)
    if (tokens[field] > 0) recorder.add('modelgateway_tokens_total', { model, group, token_type }, tokens[field]);
}

function observeGenAi(recorder: Recorder, report: CallReport): void {
  const operation = OPERATIONS[report.endpoint];
  if (operation === undefined || report.model === undefined) return;
  const protocol = report.attempts.at(-1)?.protocol;
  const labels = {
    gen_ai_operation_name: operation,
    gen_ai_provider_name: protocol ? PROVIDERS[protocol] : '',
    gen_ai_request_model: report.model,
  };
  recorder.observe('gen_ai_server_request_duration_seconds', { ...labels, error_type: report.errorCode ?? '' }, report.durationMs / 1000);
  observeTokens(recorder, labels, report.billing?.tokens);
  if (report.stream) observeStream(recorder, labels, report);
}

type GenAiLabels = Readonly<Record<'gen_ai_operation_name' | 'gen_ai_provider_name' | 'gen_ai_request_model', string>>;

function observeTokens(recorder: Recorder, labels: GenAiLabels, tokens: TokenCounts | undefined): void {
  if (!tokens) return;
  const input = tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
  if (input > 0) recorder.observe('gen_ai_client_token_usage', { ...labels, gen_ai_token_type: 'input' }, input);
  if (tokens.output > 0) recorder.observe('gen_ai_client_token_usage', { ...labels, gen_ai_token_type: 'output' }, tokens.output);
}

function observeStream(recorder: Recorder, labels: GenAiLabels, { firstByteMs, durationMs, billing }: CallReport): void {
  if (firstByteMs === undefined) return;
  recorder.observe('gen_ai_server_time_to_first_token_seconds', labels, firstByteMs / 1000);
  const rest = (billing?.tokens.output ?? 0) - 1;
  if (rest > 0) recorder.observe('gen_ai_server_time_per_output_token_seconds', labels, (durationMs - firstByteMs) / 1000 / rest);
}

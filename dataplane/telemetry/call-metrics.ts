/** Adds one finished call to the metrics. */
import type { TokenCounts } from '#price/tokens.ts';
import { isSent, reportedEndpoint } from './call-report.ts';
import type { AttemptReport, CallReport, SessionResponse } from './call-report.ts';
import type { MetricSet } from './metric-set.ts';
import { usd } from './metric-table.ts';
import type { METRICS } from './metric-table.ts';

export type ProxyMetrics = MetricSet<typeof METRICS>;

const PROVIDERS = {
  OpenAI: 'openai',
  Anthropic: 'anthropic',
  BedrockConverse: 'bedrock_converse',
  Gemini: 'gemini',
} as const;

/** The price classes of tokens, as the label token_type names them. */
const TOKEN_TYPES: readonly (readonly [keyof TokenCounts, string])[] = [
  ['input', 'input'],
  ['cached', 'cached'],
  ['cacheWrite5m', 'cache_write_5m'],
  ['cacheWrite1h', 'cache_write_1h'],
  ['output', 'output'],
];

/** Adds a finished call to all metrics that it concerns. */
export function observeCall(metrics: ProxyMetrics, report: CallReport): void {
  const { endpoint, dialect, httpStatus: status, errorCode = '', stream, durationMs } = report;
  metrics.modelgateway_requests_total.inc({ endpoint, dialect, status, error_code: errorCode });
  metrics.modelgateway_request_duration_seconds.observe({ endpoint, stream: String(stream) }, durationMs / 1000);
  observeBilling(metrics, report);
  observeGenAi(metrics, report);
  observeAttempts(metrics, report.attempts);
}

/** Adds a call's cost to the metrics of money and tokens; a call without billing adds nothing. */
export function observeBilling(metrics: ProxyMetrics, report: Pick<CallReport, 'billing' | 'model' | 'group'>): void {
  const { billing, model = '', group = '' } = report;
  if (!billing) return;
  const { channel, status, usageSource, tokens, costNanoUsd, unbilledNanoUsd, upstreamCostNanoUsd } = billing;
  metrics.modelgateway_calls_total.inc({ model, group, call_status: status, usage_source: usageSource });
  metrics.modelgateway_cost_usd_total.inc({ model, group }, usd(costNanoUsd));
  if (upstreamCostNanoUsd !== undefined) {
    metrics.modelgateway_channel_cost_usd_total.inc({ channel, model }, usd(upstreamCostNanoUsd));
    metrics.modelgateway_channel_billed_usd_total.inc({ channel, model }, usd(costNanoUsd));
  }
  if (usageSource === 'Implausible') metrics.modelgateway_implausible_usage_total.inc({ channel });
  if (unbilledNanoUsd > 0n) metrics.modelgateway_unbilled_usd_total.inc({ model, group }, usd(unbilledNanoUsd));
  for (const [priceClass, tokenType] of TOKEN_TYPES) {
    const count = tokens[priceClass];
    if (count > 0) metrics.modelgateway_tokens_total.inc({ model, group, token_type: tokenType }, count);
  }
}

/** The metrics that OpenTelemetry's conventions name, for calls of a configured model. */
function observeGenAi(metrics: ProxyMetrics, report: CallReport): void {
  const { endpoint, model, attempts, errorCode = '', durationMs, billing } = report;
  const { operation } = reportedEndpoint(endpoint);
  if (operation === undefined || model === undefined) return;
  const labels = labelsOf({ operation, model, protocol: attempts.at(-1)?.protocol });
  metrics.gen_ai_server_request_duration_seconds.observe({ ...labels, error_type: errorCode }, durationMs / 1000);
  if (billing) {
    const { input, cached, cacheWrite5m, cacheWrite1h, output } = billing.tokens;
    const allInput = input + cached + cacheWrite5m + cacheWrite1h;
    if (allInput > 0) metrics.gen_ai_client_token_usage.observe({ ...labels, gen_ai_token_type: 'input' }, allInput);
    if (output > 0) metrics.gen_ai_client_token_usage.observe({ ...labels, gen_ai_token_type: 'output' }, output);
  }
  observeStream(metrics, labels, report);
}

type GenAiLabels = Record<'gen_ai_operation_name' | 'gen_ai_provider_name' | 'gen_ai_request_model', string>;

interface Asked {
  readonly operation: string;
  readonly model: string;
  readonly protocol: AttemptReport['protocol'] | undefined;
}

function labelsOf({ operation, model, protocol }: Asked): GenAiLabels {
  return {
    gen_ai_operation_name: operation,
    gen_ai_provider_name: protocol ? PROVIDERS[protocol] : '',
    gen_ai_request_model: model,
  };
}

/** Sessions are left out: observeResponse adds each of their responses. */
function observeStream(metrics: ProxyMetrics, labels: GenAiLabels, report: CallReport): void {
  const { endpoint, stream, durationMs, firstByteMs, billing } = report;
  if (!stream || endpoint === 'realtime') return;
  observeTokens(metrics, labels, { durationMs, firstOutputMs: firstByteMs, outputTokens: billing?.tokens.output ?? 0 });
}

/** Adds a response of a realtime session to the metrics of streams. */
export function observeResponse(metrics: ProxyMetrics, response: SessionResponse): void {
  const { operation } = reportedEndpoint('realtime');
  if (operation !== undefined) observeTokens(metrics, labelsOf({ ...response, operation }), response);
}

type TokenTimes = Pick<SessionResponse, 'durationMs' | 'firstOutputMs' | 'outputTokens'>;

function observeTokens(
  metrics: ProxyMetrics,
  labels: GenAiLabels,
  { durationMs, firstOutputMs, outputTokens }: TokenTimes,
): void {
  if (firstOutputMs === undefined) return;
  metrics.gen_ai_server_time_to_first_token_seconds.observe(labels, firstOutputMs / 1000);
  const laterTokens = outputTokens - 1;
  if (laterTokens <= 0) return;
  const seconds = (durationMs - firstOutputMs) / 1000;
  metrics.gen_ai_server_time_per_output_token_seconds.observe(labels, seconds / laterTokens);
}

function observeAttempts(metrics: ProxyMetrics, attempts: readonly AttemptReport[]): void {
  let isRetry = false;
  for (const { channel, outcome, durationMs, droppedBetas = [] } of attempts) {
    for (const beta of droppedBetas) metrics.modelgateway_dropped_betas_total.inc({ channel, beta });
    metrics.modelgateway_upstream_attempts_total.inc({ channel, outcome });
    if (!isSent({ outcome })) continue;
    metrics.modelgateway_upstream_attempt_duration_seconds.observe({ channel }, durationMs / 1000);
    if (isRetry) metrics.modelgateway_upstream_retries_total.inc({ channel });
    isRetry = true;
  }
}

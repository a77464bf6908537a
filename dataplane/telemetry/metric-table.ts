/**
 * The table of a proxy's metrics: metrics.ts creates them, docs/reference/metrics.md is generated from it. Every label is
 * bounded: channels, groups and models come from the configuration, and a model that is not configured is "". Accounts
 * are never labels; keys are labels of one metric only, for a fixed number of them. Statuses and /v1/usage have their
 * figures. Units are seconds and USD.
 */
import type { MetricTable } from './metric-set.ts';
import { PROCESS_METRICS } from './process-metrics.ts';

/** OpenTelemetry's buckets for durations of model calls, extended to the longest timeouts. */
const CALL_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36,
];
/** OpenTelemetry's buckets, extended to a minute for models that reason first. */
const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 15, 30, 45, 60,
];
const PER_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const LEDGER_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

const GEN_AI = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

export const METRICS = {
  gen_ai_server_request_duration_seconds: {
    type: 'histogram',
    labels: [...GEN_AI, 'error_type'],
    buckets: CALL_SECONDS,
    help:
      'Time from a model call\'s arrival to the end of its response. error_type is the error code, "" if it ' +
      'succeeded.',
  },
  gen_ai_server_time_to_first_token_seconds: {
    type: 'histogram',
    labels: GEN_AI,
    buckets: FIRST_TOKEN_SECONDS,
    help:
      "Time from a streamed call's arrival to the first byte of its response; in realtime sessions, from a response's " +
      'beginning at the provider to its first output.',
  },
  gen_ai_server_time_per_output_token_seconds: {
    type: 'histogram',
    labels: GEN_AI,
    buckets: PER_TOKEN_SECONDS,
    help: 'Time per output token of a streamed call, or of a response in a realtime session, after the first one.',
  },
  gen_ai_client_token_usage: {
    type: 'histogram',
    labels: [...GEN_AI, 'gen_ai_token_type'],
    buckets: TOKENS,
    help: 'Billed tokens per call, by type: input (cached and cache-written ones included) or output.',
  },
  modelgateway_requests_total: {
    type: 'counter',
    labels: ['endpoint', 'dialect', 'status', 'error_code'],
    help: 'Requests by endpoint, HTTP status (499: the client disconnected first) and error code ("": none).',
  },
  modelgateway_request_duration_seconds: {
    type: 'histogram',
    labels: ['endpoint', 'stream'],
    buckets: [0.001, 0.0025, 0.005, ...CALL_SECONDS],
    help: "Time from a request's arrival to the end of its response, all endpoints.",
  },
  modelgateway_calls_total: {
    type: 'counter',
    labels: ['model', 'group', 'call_status', 'usage_source'],
    help: 'Calls that had a hold, by status and source of usage.',
  },
  modelgateway_tokens_total: {
    type: 'counter',
    labels: ['model', 'group', 'token_type'],
    help: 'Billed tokens by price class: input, cached, cache_write_5m, cache_write_1h, output.',
  },
  modelgateway_cost_usd_total: {
    type: 'counter',
    labels: ['model', 'group'],
    help: 'Cost of settled calls. A floating-point sum for dashboards; the ledger has the exact amounts.',
  },
  modelgateway_channel_cost_usd_total: {
    type: 'counter',
    labels: ['channel', 'model'],
    help: "The platform's cost of settled calls, on channels that state their cost. A floating-point sum.",
  },
  modelgateway_channel_billed_usd_total: {
    type: 'counter',
    labels: ['channel', 'model'],
    help: 'The billed amount of the calls in modelgateway_channel_cost_usd_total; the difference is the margin.',
  },
  modelgateway_unbilled_usd_total: {
    type: 'counter',
    labels: ['model', 'group'],
    help:
      'Cost beyond both the hold and the free money under the limits, written off because a provider exceeded the ' +
      'output limit. Should stay 0.',
  },
  modelgateway_implausible_usage_total: {
    type: 'counter',
    labels: ['channel'],
    help: 'Calls whose provider reported more tokens than the request allowed; they are billed up to that limit.',
  },
  modelgateway_key_timeouts_total: {
    type: 'counter',
    labels: ['key'],
    help:
      'Calls whose provider did not respond in time, or stopped sending, by key (namespace/name): the 50 keys with ' +
      'the most.',
  },
  modelgateway_jobs_ended_total: {
    type: 'counter',
    labels: ['model', 'group', 'end'],
    help:
      'Videos, background responses and batches by their end: Completed, Failed, Cancelled, Deleted (while running), ' +
      'GivenUp (no result in a day, of a batch in eight days, or gone at the provider).',
  },
  modelgateway_upstream_attempts_total: {
    type: 'counter',
    labels: ['channel', 'outcome'],
    help:
      'Attempts by channel and outcome: ok, status_ with the HTTP status, error (in a response of 200), connect, ' +
      'reset, timeout, cut, idle, aborted; full and short were not sent.',
  },
  modelgateway_upstream_attempt_duration_seconds: {
    type: 'histogram',
    labels: ['channel'],
    buckets: CALL_SECONDS,
    help: "Time from the start of an attempt that was sent to the headers of its response, or a stream's first chunk.",
  },
  modelgateway_upstream_retries_total: {
    type: 'counter',
    labels: ['channel'],
    help: 'Attempts after the first one of a call, by channel.',
  },
  modelgateway_dropped_betas_total: {
    type: 'counter',
    labels: ['channel', 'beta'],
    help:
      "Flags of anthropic-beta that a channel's provider did not get, by the flag without its date; unknown ones " +
      'are other.',
  },
  modelgateway_ledger_duration_seconds: {
    type: 'histogram',
    labels: ['operation', 'outcome'],
    buckets: LEDGER_SECONDS,
    help:
      "Time of the ledger's operations: hold, settle, slots, progress. On a single Valkey, slots are taken with " +
      'the hold, whose outcome is then Full.',
  },
  modelgateway_holds: { type: 'gauge', labels: [], help: 'Holds that are not settled yet.' },
  modelgateway_held_usd: { type: 'gauge', labels: [], help: 'Money in holds that are not settled yet.' },
  modelgateway_slots_in_use: {
    type: 'gauge',
    labels: ['scope'],
    help: 'Concurrency slots in use, by scope: Key, Group, Channel.',
  },
  modelgateway_config_generation: {
    type: 'gauge',
    labels: [],
    help: 'Configurations that were put in force since the start; 0: none yet.',
  },
  modelgateway_config_last_applied_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'The Unix time when the configuration in force was applied.',
  },
  modelgateway_config_rejected_total: {
    type: 'counter',
    labels: [],
    help: 'Rejected configurations; the previous one stayed in effect.',
  },
  modelgateway_xds_connected: {
    type: 'gauge',
    labels: [],
    help: '1: connected to an operator; 0: this proxy continues with its last good configuration.',
  },
  modelgateway_xds_connections_total: {
    type: 'counter',
    labels: [],
    help: 'Connections to an operator that delivered a complete configuration.',
  },
  modelgateway_xds_last_update_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'The Unix time when the operator last had nothing newer than the configuration in force; 0: not yet.',
  },
  modelgateway_xds_config_expires_in_seconds: {
    type: 'gauge',
    labels: [],
    help:
      'Time until this proxy refuses all calls for lack of an operator (--max-config-age), since keys may have ' +
      'been revoked meanwhile. It falls only while the proxy is not connected.',
  },
  modelgateway_xds_resources: { type: 'gauge', labels: [], help: 'Objects of the configuration in force.' },
  modelgateway_xds_refused_resources: {
    type: 'gauge',
    labels: [],
    help: 'Objects whose newest version this proxy rejects; it keeps the previous version, or none.',
  },
  modelgateway_event_loop_lag_seconds: {
    type: 'gauge',
    labels: ['quantile'],
    help: 'Delay of the event loop since the last scrape, by quantile: 0.5, 0.99, 1 (the longest).',
  },
  ...PROCESS_METRICS,
  nodejs_heap_size_used_bytes: { type: 'gauge', labels: [], help: 'JavaScript heap in use.' },
} as const satisfies MetricTable;

/** Converts to USD in floating point, as in all metrics; the ledger has the exact figures. */
export function usd(nanoUsd: bigint): number {
  return Number(nanoUsd) / 1e9;
}

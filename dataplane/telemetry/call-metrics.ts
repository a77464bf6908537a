/**
 * What one finished call adds to the metrics. Calls that look alike add to the same series, which are looked up once for all of
 * them (kinds.ts).
 */
import type { TokenCounts } from '../ledger/usage-record.ts';
import type { AttemptReport, CallReport, EndpointName } from './call-report.ts';
import { CallKinds, isLike, likenessOf, Pairs } from './kinds.ts';
import type { CallKind, Likeness } from './kinds.ts';
import { usd } from './recorder.ts';
import type { Labels, Recorder, Series } from './recorder.ts';
import type { MetricName } from './metric-table.ts';

/** OpenTelemetry's names of operations; endpoints that are not here call no model. */
const OPERATIONS: Readonly<Partial<Record<EndpointName, string>>> = {
  chat_completions: 'chat',
  messages: 'chat',
  embeddings: 'embeddings',
  images: 'generate_content',
  videos: 'generate_content',
  responses: 'chat',
};

const PROVIDERS = { OpenAI: 'openai', Anthropic: 'anthropic' } as const;

/** Outcomes of attempts that never left the gateway. */
const NOT_SENT = new Set(['full', 'short']);

/** Adds finished calls to all metrics that they concern. */
export function createCallObserver(recorder: Recorder): (report: CallReport) => void {
  const kinds = new CallKinds((report) => new KindOfCall(recorder, report));
  const attempts = new Pairs((channel: string, outcome: string) => new KindOfAttempt(recorder, { channel, outcome }));
  return (report) => {
    kinds.find(report).add(report);
    let sent = 0;
    for (const attempt of report.attempts) sent += attempts.find(attempt.channel, attempt.outcome).add(attempt, sent > 0);
  };
}

/** Adds what a call cost to the metrics of money and tokens. */
export function observeBilling(recorder: Recorder, { billing, model = '', group = '' }: Pick<CallReport, 'billing' | 'model' | 'group'>): void {
  if (billing) new BillingSeries(recorder, { model, group, call_status: billing.status, usage_source: billing.usageSource }).add(billing);
}

/** A series that the page shows once something has been added to it. */
class LazySeries {
  readonly #recorder: Recorder;
  readonly #name: MetricName;
  readonly #labels: Labels;
  #series: Series | undefined;

  constructor(recorder: Recorder, name: MetricName, labels: Labels) {
    this.#recorder = recorder;
    this.#name = name;
    this.#labels = labels;
  }

  get(): Series {
    return this.#series ??= this.#recorder.series(this.#name, this.#labels);
  }

  /** Adds to a counter; nothing is nothing to show. */
  count(value: number): void {
    if (value > 0) this.get().add(value);
  }
}

class KindOfCall implements CallKind {
  readonly #like: Likeness;
  readonly #requests: Series;
  readonly #duration: Series;
  readonly #billing: BillingSeries | undefined;
  readonly #genAi: GenAiSeries | undefined;

  constructor(recorder: Recorder, report: CallReport) {
    this.#like = likenessOf(report);
    const { endpoint, dialect, httpStatus, errorCode = '', stream, billing, model, group = '' } = report;
    this.#requests = recorder.series('modelgateway_requests_total', { endpoint, dialect, status: String(httpStatus), error_code: errorCode });
    this.#duration = recorder.series('modelgateway_request_duration_seconds', { endpoint, stream: String(stream) });
    this.#billing = billing && new BillingSeries(recorder, { model: model ?? '', group, call_status: billing.status, usage_source: billing.usageSource });
    const operation = OPERATIONS[endpoint];
    this.#genAi = operation === undefined || model === undefined ? undefined : new GenAiSeries(recorder, report, { operation, model });
  }

  isOf(report: CallReport): boolean {
    return isLike(this.#like, report);
  }

  add(report: CallReport): void {
    this.#requests.add(1);
    this.#duration.observe(report.durationMs / 1000);
    if (report.billing) this.#billing?.add(report.billing);
    this.#genAi?.add(report);
  }
}

class KindOfAttempt {
  readonly #attempts: Series;
  /** Undefined: it was not sent. */
  readonly #duration: Series | undefined;
  readonly #retries: LazySeries;

  constructor(recorder: Recorder, { channel, outcome }: Pick<AttemptReport, 'channel' | 'outcome'>) {
    this.#attempts = recorder.series('modelgateway_upstream_attempts_total', { channel, outcome });
    this.#duration = NOT_SENT.has(outcome) ? undefined : recorder.series('modelgateway_upstream_attempt_duration_seconds', { channel });
    this.#retries = new LazySeries(recorder, 'modelgateway_upstream_retries_total', { channel });
  }

  /** Returns how many requests left for a provider: one or none. */
  add({ durationMs }: AttemptReport, isRetry: boolean): number {
    this.#attempts.add(1);
    if (!this.#duration) return 0;
    this.#duration.observe(durationMs / 1000);
    if (isRetry) this.#retries.get().add(1);
    return 1;
  }
}

class BillingSeries {
  readonly #calls: Series;
  readonly #cost: Series;
  readonly #unbilled: LazySeries;
  readonly #tokens: Readonly<Record<keyof TokenCounts, LazySeries>>;

  constructor(recorder: Recorder, labels: Readonly<Record<'model' | 'group' | 'call_status' | 'usage_source', string>>) {
    const { model, group } = labels;
    this.#calls = recorder.series('modelgateway_calls_total', labels);
    this.#cost = recorder.series('modelgateway_cost_usd_total', { model, group });
    this.#unbilled = new LazySeries(recorder, 'modelgateway_unbilled_usd_total', { model, group });
    const tokens = (token_type: string): LazySeries => new LazySeries(recorder, 'modelgateway_tokens_total', { model, group, token_type });
    this.#tokens = { input: tokens('input'), cached: tokens('cached'), cacheWrite5m: tokens('cache_write_5m'), cacheWrite1h: tokens('cache_write_1h'), output: tokens('output') };
  }

  add({ tokens, costNanoUsd, unbilledNanoUsd }: NonNullable<CallReport['billing']>): void {
    this.#calls.add(1);
    this.#cost.add(usd(costNanoUsd));
    this.#unbilled.count(usd(unbilledNanoUsd));
    const { input, cached, cacheWrite5m, cacheWrite1h, output } = this.#tokens;
    input.count(tokens.input);
    cached.count(tokens.cached);
    cacheWrite5m.count(tokens.cacheWrite5m);
    cacheWrite1h.count(tokens.cacheWrite1h);
    output.count(tokens.output);
  }
}

class GenAiSeries {
  readonly #duration: Series;
  readonly #input: LazySeries;
  readonly #output: LazySeries;
  readonly #firstToken: LazySeries;
  readonly #perToken: LazySeries;

  constructor(recorder: Recorder, { attempts, errorCode = '' }: CallReport, { operation, model }: { operation: string; model: string }) {
    const protocol = attempts.at(-1)?.protocol;
    const labels = { gen_ai_operation_name: operation, gen_ai_provider_name: protocol ? PROVIDERS[protocol] : '', gen_ai_request_model: model };
    this.#duration = recorder.series('gen_ai_server_request_duration_seconds', { ...labels, error_type: errorCode });
    this.#input = new LazySeries(recorder, 'gen_ai_client_token_usage', { ...labels, gen_ai_token_type: 'input' });
    this.#output = new LazySeries(recorder, 'gen_ai_client_token_usage', { ...labels, gen_ai_token_type: 'output' });
    this.#firstToken = new LazySeries(recorder, 'gen_ai_server_time_to_first_token_seconds', labels);
    this.#perToken = new LazySeries(recorder, 'gen_ai_server_time_per_output_token_seconds', labels);
  }

  add(report: CallReport): void {
    this.#duration.observe(report.durationMs / 1000);
    if (report.billing) this.#addTokens(report.billing.tokens);
    if (report.stream && report.firstByteMs !== undefined) this.#addStream(report, report.firstByteMs);
  }

  #addTokens(tokens: TokenCounts): void {
    const input = tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
    if (input > 0) this.#input.get().observe(input);
    if (tokens.output > 0) this.#output.get().observe(tokens.output);
  }

  #addStream({ durationMs, billing }: CallReport, firstByteMs: number): void {
    this.#firstToken.get().observe(firstByteMs / 1000);
    const rest = (billing?.tokens.output ?? 0) - 1;
    if (rest > 0) this.#perToken.get().observe((durationMs - firstByteMs) / 1000 / rest);
  }
}

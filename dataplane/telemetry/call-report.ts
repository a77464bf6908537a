/**
 * The report that the pipeline makes of each call, once, when the call is over. Telemetry turns a report into metrics
 * and one log line. A report holds ids, never a key, a prompt or a provider's URL.
 */
import type { CallStatus, TokenCounts, UsageSource } from '../ledger/usage-record.ts';

/** Routes with bounded names: unknown paths are "other". */
export type EndpointName =
  | 'chat_completions' | 'messages' | 'count_tokens' | 'models' | 'embeddings' | 'images' | 'videos' | 'responses'
  | 'key' | 'usage' | 'pricing' | 'other';

/** One attempt at one channel. */
export interface AttemptReport {
  /** "route/channel": bounded by the configuration. */
  readonly channel: string;
  readonly protocol: 'OpenAI' | 'Anthropic' | 'BedrockConverse';
  /** ok, full, status_<code>, connect, reset, timeout, cut, idle, aborted, short (no money at this channel's price). */
  readonly outcome: string;
  readonly durationMs: number;
  /** The families of beta flags that the provider did not get; absent: none. */
  readonly droppedBetas?: readonly string[];
}

export interface CallReport {
  readonly requestId: string;
  readonly endpoint: EndpointName;
  readonly dialect: 'OpenAI' | 'Anthropic';
  readonly stream: boolean;
  /** HTTP status sent; 499 where the client left before one was. */
  readonly httpStatus: number;
  /** Code of the error table, where the call ended in an error, before or within the answer. */
  readonly errorCode: string | undefined;
  /** What the error said; undefined where these are the provider's words, which may quote a prompt. Never logged. */
  readonly errorMessage?: string | undefined;
  /** Of a refusal for lack of money: the quota or the credit that does not cover the call. */
  readonly exceededLimitNanoUsd?: bigint | undefined;
  /** Set once authenticated, and where the key was found but is not in force. */
  readonly key: {
    readonly uid: string;
    readonly namespace: string;
    readonly name: string;
    readonly prefix: string;
    readonly account: string;
  } | undefined;
  /** A configured model's name; undefined before one was found, so that labels stay bounded. */
  readonly model: string | undefined;
  /** The group that served it. */
  readonly group: string | undefined;
  readonly attempts: readonly AttemptReport[];
  /** Set once money was held. */
  readonly billing: {
    /** "route/channel" */
    readonly channel: string;
    readonly status: CallStatus;
    readonly tokens: TokenCounts;
    readonly usageSource: UsageSource;
    readonly costNanoUsd: bigint;
    readonly unbilledNanoUsd: bigint;
  } | undefined;
  /** Money was held for it, so that the ledger has a record. Absent: none was. */
  readonly admitted?: boolean;
  /** A provider got the call and did not answer in time, or fell silent within its answer. */
  readonly timedOut?: boolean;
  readonly durationMs: number;
  /** From the request's arrival to the first byte of the body sent to the client; undefined: none was. */
  readonly firstByteMs: number | undefined;
}

/** A call whose settlement came after its client had been told that the ledger does not answer. */
export type LateBilling = Pick<CallReport, 'requestId' | 'model' | 'group'> & {
  readonly billing: NonNullable<CallReport['billing']>;
};

/** How a job (a video) ended for the gateway. GivenUp: it never learned how. */
export interface JobEnd {
  readonly requestId: string;
  readonly jobId: string;
  readonly model: string;
  readonly group: string;
  readonly channel: string;
  readonly end: 'Completed' | 'Failed' | 'Deleted' | 'GivenUp';
}

export interface CallTelemetry {
  /** Called once for each call. */
  finished(report: CallReport): void;
  /** Called once for each job, when its end is known. */
  jobEnded(end: JobEnd): void;
  /** Called at most once for each call, after `finished` without billing. */
  billedLate(late: LateBilling): void;
  /** Called with the time from a question to the ledger until its answer. */
  ledger(operation: 'hold' | 'settle' | 'slots' | 'progress', durationMs: number, outcome: string): void;
}

/**
 * The report of a call, which the pipeline makes once, when the call is over. Telemetry turns a report into metrics and
 * one log line. A report contains ids, never a key's text, a prompt or a provider's URL.
 */
import type { RecordedStatus, RecordedUsageSource } from '#usage/record.ts';
import type { TokenCounts } from '#price/tokens.ts';

interface ReportedEndpoint {
  /** True if its requests would call a model. */
  readonly isCall: boolean;
  /** OpenTelemetry's name of the operation; absent: no model is called. */
  readonly operation?:
    | 'chat'
    | 'embeddings'
    | 'generate_content'
    | 'moderation'
    | 'realtime'
    | 'rerank'
    | 'speech'
    | 'text_completion'
    | 'transcription';
}

const FREE: ReportedEndpoint = { isCall: false };

/** By the names in metrics and logs. Every unknown path, and what is refused unread, is "other": metrics are bounded. */
const ENDPOINTS = {
  chat_completions: { isCall: true, operation: 'chat' },
  messages: { isCall: true, operation: 'chat' },
  generate_content: { isCall: true, operation: 'generate_content' },
  responses: { isCall: true, operation: 'chat' },
  completions: { isCall: true, operation: 'text_completion' },
  embeddings: { isCall: true, operation: 'embeddings' },
  moderations: { isCall: true, operation: 'moderation' },
  rerank: { isCall: true, operation: 'rerank' },
  images: { isCall: true, operation: 'generate_content' },
  image_edits: { isCall: true, operation: 'generate_content' },
  image_variations: { isCall: true, operation: 'generate_content' },
  videos: { isCall: true, operation: 'generate_content' },
  embed_content: { isCall: true, operation: 'embeddings' },
  predict: { isCall: true, operation: 'generate_content' },
  speech: { isCall: true, operation: 'speech' },
  transcriptions: { isCall: true, operation: 'transcription' },
  translations: { isCall: true, operation: 'transcription' },
  realtime: { isCall: true, operation: 'realtime' },
  batches: { isCall: true },
  message_batches: { isCall: true },
  count_tokens: { isCall: true },
  models: FREE,
  conversations: FREE,
  files: FREE,
  key: FREE,
  usage: FREE,
  pricing: FREE,
  other: { isCall: true },
} as const satisfies Readonly<Record<string, ReportedEndpoint>>;

export type EndpointName = keyof typeof ENDPOINTS;

export function reportedEndpoint(name: EndpointName): ReportedEndpoint {
  return ENDPOINTS[name];
}

/** One attempt at one channel. */
export interface AttemptReport {
  /** "route/channel": bounded by the configuration. */
  readonly channel: string;
  readonly protocol: 'OpenAI' | 'Anthropic' | 'BedrockConverse' | 'Gemini';
  /**
   * ok, full, status_<code>, error (in a response of 200), connect, reset, timeout, cut, idle, aborted, short (no money
   * at this channel's price).
   */
  readonly outcome: string;
  readonly durationMs: number;
  /** The families of beta flags that the provider did not get; absent: none. */
  readonly droppedBetas?: readonly string[];
}

/** The outcomes of channels that were skipped: nothing was sent to them. */
export const SKIPPED = { Full: 'full', Short: 'short' } as const;

/** Whether the attempt sent a request to its channel. */
export function isSent({ outcome }: Pick<AttemptReport, 'outcome'>): boolean {
  return outcome !== SKIPPED.Full && outcome !== SKIPPED.Short;
}

export interface CallReport {
  readonly requestId: string;
  readonly endpoint: EndpointName;
  readonly dialect: 'OpenAI' | 'Anthropic' | 'Gemini';
  readonly stream: boolean;
  /** The HTTP status that was sent; 499 if the client left before that. */
  readonly httpStatus: number;
  /** A code of the error table, if the call ended in an error before or within the response. */
  readonly errorCode: string | undefined;
  /** The error's message; undefined if the provider wrote it, because it may quote a prompt. Never logged. */
  readonly errorMessage?: string | undefined;
  /** Of a refusal for lack of money: the quota or the credit that does not cover the call. */
  readonly exceededLimitNanoUsd?: bigint | undefined;
  /** Of a refusal for lack of money: whose. */
  readonly fundsOf?: 'Key' | 'Account' | 'AccountLimit' | undefined;
  /** Set once the key is authenticated, and also if it was found but is not in force. */
  readonly key:
    | {
        readonly uid: string;
        readonly namespace: string;
        readonly name: string;
        readonly prefix: string;
        readonly account: string;
      }
    | undefined;
  /** The model's name in the configuration; undefined until one is found, so that labels stay bounded. */
  readonly model: string | undefined;
  /** The group that served the call. */
  readonly group: string | undefined;
  readonly attempts: readonly AttemptReport[];
  /** Set once money was held, unless the call's job is billed at its end. */
  readonly billing:
    | {
        /** "route/channel" */
        readonly channel: string;
        readonly status: RecordedStatus;
        readonly tokens: TokenCounts;
        readonly usageSource: RecordedUsageSource;
        readonly costNanoUsd: bigint;
        readonly unbilledNanoUsd: bigint;
        /** Undefined: the channel states no cost. */
        readonly upstreamCostNanoUsd?: bigint;
      }
    | undefined;
  /** True if money was held, so that the ledger has a record. */
  readonly admitted?: boolean;
  /** True if a provider did not respond in time, or stopped sending its response. */
  readonly timedOut?: boolean;
  readonly durationMs: number;
  /** From the request's arrival to the first byte of the body sent to the client; undefined if none was sent. */
  readonly firstByteMs: number | undefined;
}

/** A call that was settled after its client had got the error that the ledger does not respond. */
export type LateBilling = Pick<CallReport, 'requestId' | 'model' | 'group'> & {
  readonly billing: NonNullable<CallReport['billing']>;
};

/** The end of a job: a video, or a background response. GivenUp: the gateway never learned its outcome. */
export interface JobEnd {
  readonly requestId: string;
  readonly jobId: string;
  readonly model: string;
  readonly group: string;
  readonly channel: string;
  readonly end: 'Completed' | 'Failed' | 'Cancelled' | 'Deleted' | 'GivenUp';
  /** Of a job that is billed at its end, whose call was reported without billing. */
  readonly billing?: NonNullable<CallReport['billing']>;
}

/** A response of a realtime session, which is one call with many responses. */
export interface SessionResponse {
  readonly model: string;
  readonly protocol: AttemptReport['protocol'];
  readonly outputTokens: number;
  /** From its beginning at the provider to its end. */
  readonly durationMs: number;
  /** From its beginning to its first output; undefined: it had no output. */
  readonly firstOutputMs: number | undefined;
}

export interface CallTelemetry {
  /** Called once for each call. */
  finished(report: CallReport): void;
  /** Called once for each response of a session that has ended. */
  responded(response: SessionResponse): void;
  /** Called once for each job, when its end is known. */
  jobEnded(end: JobEnd): void;
  /** Called at most once for each call, after `finished` without billing. */
  billedLate(late: LateBilling): void;
  /** Called with the response time of an operation of the ledger. */
  ledger(operation: 'hold' | 'settle' | 'slots' | 'progress', durationMs: number, outcome: string): void;
}

/**
 * The table of errors that a client can get: from code to status, and to the error types of both dialects. Pipeline
 * stages throw a GatewayError, and server/reply-error.ts writes it in the dialect of the path.
 * docs/reference/errors.md is generated from this table.
 */

export interface ErrorRow {
  readonly status: number;
  /** The error.type and error.code of the OpenAI dialect. */
  readonly openaiType: string;
  readonly openaiCode: string | null;
  /** The error.type of the Anthropic dialect. */
  readonly anthropicType: string;
  /**
   * Tells the official SDKs whether to retry. true: a retry-after header; false: x-should-retry: false; absent: the SDK
   * decides.
   */
  readonly retry?: boolean;
  /** When the error occurs, for the documentation. */
  readonly when: string;
}

export const ERRORS = {
  invalid_api_key: {
    status: 401,
    openaiType: 'invalid_request_error',
    openaiCode: 'invalid_api_key',
    anthropicType: 'authentication_error',
    retry: false,
    when: 'no key, or one that is malformed, unknown, disabled, expired or not accepted',
  },
  model_not_found: {
    status: 404,
    openaiType: 'invalid_request_error',
    openaiCode: 'model_not_found',
    anthropicType: 'not_found_error',
    when: "the model is not in the catalog, or not for this key's group",
  },
  wrong_endpoint: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'wrong_endpoint',
    anthropicType: 'invalid_request_error',
    when: 'a model of this key on an endpoint that is not its own; the message names the right one',
  },
  not_found: {
    status: 404,
    openaiType: 'invalid_request_error',
    openaiCode: 'not_found',
    anthropicType: 'not_found_error',
    when: 'unknown path, or an object that does not exist or belongs to another key',
  },
  method_not_allowed: {
    status: 405,
    openaiType: 'invalid_request_error',
    openaiCode: 'method_not_allowed',
    anthropicType: 'invalid_request_error',
    when: 'known path, wrong method; the allow header names the right ones',
  },
  upgrade_required: {
    status: 426,
    openaiType: 'invalid_request_error',
    openaiCode: 'upgrade_required',
    anthropicType: 'invalid_request_error',
    when:
      'responses over a WebSocket; clients take POST with server-sent events instead. Or `/v1/realtime` without a ' +
      'WebSocket',
  },
  insufficient_quota: {
    status: 429,
    openaiType: 'insufficient_quota',
    openaiCode: 'insufficient_quota',
    anthropicType: 'rate_limit_error',
    retry: false,
    when: "the key's quota is used up, or too small for this call",
  },
  credit_balance_exhausted: {
    status: 402,
    openaiType: 'insufficient_quota',
    openaiCode: 'credit_balance_exhausted',
    anthropicType: 'billing_error',
    retry: false,
    when: "the account's balance is used up, or too small for this call",
  },
  rate_limit_exceeded: {
    status: 429,
    openaiType: 'rate_limit_error',
    openaiCode: 'rate_limit_exceeded',
    anthropicType: 'rate_limit_error',
    retry: true,
    when:
      'a limit of running calls (key, group, channel) or of requests or tokens per minute (key, account, group, channel) ' +
      "is reached, as many videos, background responses and batches of a key run as may, or the provider's own rate limit " +
      'on every channel is reached',
  },
  too_many_conversations: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'too_many_conversations',
    anthropicType: 'invalid_request_error',
    when: 'the account keeps as many conversations, or bytes of them, at providers as it may, or those here have no room',
  },
  unsupported_image: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'unsupported_image',
    anthropicType: 'invalid_request_error',
    when: 'an image for a text-only model',
  },
  not_allowed: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'not_allowed',
    anthropicType: 'invalid_request_error',
    when:
      "something whose price cannot be bounded, and neither the model's `allow` nor the route's `allow.fields` " +
      'names it',
  },
  unsupported_parameter: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'unsupported_parameter',
    anthropicType: 'invalid_request_error',
    when:
      "a field that this model's provider cannot be given, " +
      'or that refers to what is kept there for nobody in particular',
  },
  invalid_json: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'invalid_json',
    anthropicType: 'invalid_request_error',
    when: 'the body is not JSON',
  },
  invalid_request: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'invalid_value',
    anthropicType: 'invalid_request_error',
    when: 'a missing or wrong field; param names it',
  },
  context_length_exceeded: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: 'context_length_exceeded',
    anthropicType: 'invalid_request_error',
    when: "the call cannot fit the model's context",
  },
  request_too_large: {
    status: 413,
    openaiType: 'invalid_request_error',
    openaiCode: 'request_too_large',
    anthropicType: 'request_too_large',
    when: 'the body is larger than --max-body, as it is sent or decoded, or inflates to more than a hundred times its size',
  },
  unsupported_encoding: {
    status: 415,
    openaiType: 'invalid_request_error',
    openaiCode: 'unsupported_encoding',
    anthropicType: 'invalid_request_error',
    when: 'a content-encoding other than gzip, deflate, br and zstd',
  },
  request_timeout: {
    status: 408,
    openaiType: 'invalid_request_error',
    openaiCode: 'request_timeout',
    anthropicType: 'invalid_request_error',
    when: 'the body arrives at less than 1 KiB/s for longer than 15 seconds',
  },
  model_not_priced: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'model_not_priced',
    anthropicType: 'api_error',
    when: "a model of the key's group that has no price",
  },
  model_unavailable: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'model_unavailable',
    anthropicType: 'api_error',
    retry: true,
    when: 'the platform team has taken all channels of the model out of service for a while',
  },
  ledger_unavailable: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'ledger_unavailable',
    anthropicType: 'api_error',
    retry: true,
    when: 'the ledger cannot be reached, and the call was not served',
  },
  billed_later: {
    status: 500,
    openaiType: 'server_error',
    openaiCode: 'billed_later',
    anthropicType: 'api_error',
    retry: false,
    when:
      'the call was served or begun and will be billed, but neither the ledger nor a journal could record it in time; ' +
      'the message has its id',
  },
  not_ready: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'not_ready',
    anthropicType: 'api_error',
    retry: true,
    when: 'this process has no configuration yet; it never answers 401 for want of one',
  },
  shutting_down: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'shutting_down',
    anthropicType: 'api_error',
    retry: true,
    when: 'this process is draining; another one answers',
  },
  too_busy: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'too_busy',
    anthropicType: 'api_error',
    retry: true,
    when: 'what the calls in flight hold in memory reaches --max-buffered, or too many views of the price page are asked for',
  },
  upstream_error: {
    status: 502,
    openaiType: 'server_error',
    openaiCode: 'upstream_error',
    anthropicType: 'api_error',
    when: "every channel failed, or the provider refuses the gateway's credential or model name",
  },
  upstream_overloaded: {
    status: 503,
    openaiType: 'server_error',
    openaiCode: 'upstream_error',
    anthropicType: 'overloaded_error',
    when: "every channel failed and the last one said 529 (529 in Anthropic's dialect)",
  },
  upstream_refused: {
    status: 400,
    openaiType: 'invalid_request_error',
    openaiCode: null,
    anthropicType: 'invalid_request_error',
    when: 'the provider refuses the request itself: its status, type, code and message',
  },
  internal_error: {
    status: 500,
    openaiType: 'server_error',
    openaiCode: 'internal_error',
    anthropicType: 'api_error',
    when: 'a defect of the gateway; the log has the request id',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** The details of one error. */
export interface ErrorDetails {
  /** The path of the invalid field: `messages[0].content`. */
  readonly param?: string;
  readonly retryAfterSeconds?: number;
  /** For upstream_refused: the provider's status, type and code, which replace the table's. */
  readonly provider?: { readonly status: number; readonly type?: string; readonly code?: string | null };
  /** Further response headers, lower case (allow). */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
  /** The key that was identified and refused, for telemetry. */
  readonly key?: RefusedKey;
  /** The quota or the credit that does not cover the call, even when no other call runs. */
  readonly exceededLimitNanoUsd?: bigint;
  /** Whose money was lacking. */
  readonly fundsOf?: FundsOf;
}

/** AccountLimit: one of the account's limits besides its credit. */
export type FundsOf = 'Key' | 'Account' | 'AccountLimit';

/** Names the refused key, without its text. */
export interface RefusedKey {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly prefix: string;
  readonly account: string;
}

/** The message, if the gateway wrote it. Undefined for a provider's message, which may quote a prompt. */
export function gatewayMessage({ code, message }: GatewayError): string | undefined {
  return code === 'upstream_refused' ? undefined : message;
}

/** An error for the client. Its message says what is wrong and how to fix it, and holds no secret. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.details = details;
  }
}

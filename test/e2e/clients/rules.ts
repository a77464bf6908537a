/** The rules by which the real APIs refuse requests, with each API's own form of an error. */
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';
import { converseError } from '../../support/converse-answers.ts';
import { geminiError } from '../../support/gemini-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { anthropicError, json } from '../../support/provider-answers.ts';
import { refuseAnthropic } from './anthropic-rules.ts';
import { refuseConverse } from './converse-rules.ts';
import { refuseGemini } from './gemini-rules.ts';
import { refuseOpenAi } from './openai-rules.ts';
import type { Refusal } from './openai-rules.ts';
import { refuseResponses } from './responses-rules.ts';

interface Refused {
  readonly message: string;
  readonly reply: Reply;
}

/** `model`: as the path names it. */
type Api = (body: JsonRecord, model: string) => Refused | undefined;

const STATUS = 400;

const APIS: readonly (readonly [RegExp, Api])[] = [
  [/^\/v1\/chat\/completions/, (body) => byOpenAi(refuseOpenAi(body))],
  [/^\/v1\/responses/, (body) => byOpenAi(refuseResponses(body))],
  [
    /^\/v1\/messages/,
    (body) => refused(refuseAnthropic(body), (message) => anthropicError(STATUS, 'invalid_request_error', message)),
  ],
  [
    /^\/v1beta\/models\/([^:]+):(?:streamG|g)enerateContent/,
    (body, model) => refused(refuseGemini(body, model), (message) => geminiError(STATUS, message)),
  ],
  [/^\/model\/[^/]+\/converse/, (body) => refused(refuseConverse(body), (message) => converseError(STATUS, message))],
];

/** The refusal of a request that breaks a rule of the API at this path. */
export function refusalOf(path: string, body: JsonRecord): Refused | undefined {
  for (const [pattern, api] of APIS) {
    const match = pattern.exec(path);
    if (match) return api(body, match[1] ?? '');
  }
  return undefined;
}

function refused(message: string | undefined, replyOf: (message: string) => Reply): Refused | undefined {
  return message === undefined ? undefined : { message, reply: replyOf(message) };
}

function byOpenAi(refusal: Refusal | undefined): Refused | undefined {
  return refused(refusal?.message, () =>
    json({ error: { type: 'invalid_request_error', code: null, param: null, ...refusal } }, { status: STATUS }),
  );
}

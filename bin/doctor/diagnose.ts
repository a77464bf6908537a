/** What a provider's answer to a probe says about the channel's configuration. */

/** What is wrong. RateLimited and Unavailable may be gone tomorrow, and say nothing against the configuration. */
export type Problem =
  'Credential' | 'Address' | 'Model' | 'Region' | 'Betas' | 'Request' | 'RateLimited' | 'Unavailable';

export interface Diagnosis {
  /** Absent: the channel serves. */
  readonly problem?: Problem;
  readonly message: string;
}

export interface ProviderAnswer {
  readonly status: number;
  /** The provider's words, redacted. */
  readonly message: string;
  /** Its own name of the error: AWS's x-amzn-errortype, or the code of the body. */
  readonly code: string;
}

interface Rule {
  readonly statuses: readonly number[];
  /** Of code and message together. */
  readonly words?: RegExp;
  readonly problem?: Problem;
  readonly advice: string;
}

const REDIRECTS = Array.from({ length: 100 }, (_, index) => 300 + index);

const MODEL_WORDS = new RegExp(
  [
    'access to the model|model access|DeploymentNotFound|model identifier|model_not_found|publisher model',
    "\\bmodels?\\b.{0,80}(?:not found|not exist|invalid|unknown|not supported|isn't supported)",
    '(?:unknown|invalid|no such|not find).{0,20}\\bmodel\\b',
  ].join('|'),
  'i',
);

/** The first that fits counts. */
const RULES: readonly Rule[] = [
  { statuses: [400], words: /max_tokens or model output limit was reached/i, advice: 'the model responds' },
  {
    statuses: REDIRECTS,
    problem: 'Address',
    advice: 'the provider responds with a redirect, which is not followed: check baseUrl',
  },
  {
    statuses: [400, 403],
    words: /scoped to a valid region|credential should be scoped|wrong region|SignatureDoesNotMatch/i,
    problem: 'Region',
    advice: 'check auth.aws.region and auth.aws.service, and the secret key',
  },
  {
    statuses: [400, 404],
    words: /on-demand throughput|inference profile|not (?:available|supported) in (?:this|your) (?:region|location)/i,
    problem: 'Region',
    advice: 'the model has another id in this region: check the inference profile in upstreamName',
  },
  {
    statuses: [400, 403],
    words: /\bbeta\b/i,
    problem: 'Betas',
    advice: 'the provider rejects a flag of anthropic-beta: check betas of the channel',
  },
  {
    statuses: [400, 403, 404],
    words: MODEL_WORDS,
    problem: 'Model',
    advice: 'check models[].upstreamName, and that the account may use the model',
  },
  {
    statuses: [400, 404],
    words: /api[- ]version/i,
    problem: 'Address',
    advice: 'check apiVersion',
  },
  {
    statuses: [401, 402, 403, 407],
    problem: 'Credential',
    advice: 'check the Secret in auth, the permissions of the identity and the credit of the account',
  },
  { statuses: [404, 405], problem: 'Address', advice: 'not found: check baseUrl, protocol and platform' },
  { statuses: [408, 529], problem: 'Unavailable', advice: 'the provider is overloaded: try again later' },
  { statuses: [429], problem: 'RateLimited', advice: 'the credential is valid, but its rate limit is reached' },
];

export function diagnose({ status, message, code }: ProviderAnswer): Diagnosis {
  const said = `${code} ${message}`;
  const rule = RULES.find(({ statuses, words }) => statuses.includes(status) && (words?.test(said) ?? true));
  // what a provider says of a credential may quote it
  const quoted = message === '' || rule?.problem === 'Credential' ? `${status}` : `${status} ${message}`;
  if (rule) return { ...(rule.problem && { problem: rule.problem }), message: `${rule.advice} (${quoted})` };
  return status < 500
    ? { problem: 'Request', message: `the provider rejects the request (${quoted})` }
    : { problem: 'Unavailable', message: `the provider fails: try again later (${quoted})` };
}

/** Whether a problem is one of the configuration. */
export function isFault({ problem }: Diagnosis): boolean {
  return problem !== undefined && problem !== 'RateLimited' && problem !== 'Unavailable';
}

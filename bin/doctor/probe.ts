/**
 * Asks a channel as the data plane would: a count of tokens where the provider has it, which costs nothing, and else a
 * call of one token.
 */
import { platformPlanOf } from '../../dataplane/pipeline/platform-plan.ts';
import type { RequestPlan, UpstreamBody } from '../../dataplane/protocol/converter.ts';
import { toPlatformHeaders, toPlatformPath } from '../../dataplane/protocol/platforms/platform-request.ts';
import type { TokenCounter } from '../../dataplane/protocol/provider.ts';
import { converterFor, providerOf } from '../../dataplane/protocol/providers.ts';
import { collectUpTo } from '../../dataplane/upstream/collect.ts';
import { isForwardProxyError } from '../../dataplane/upstream/forward-proxy.ts';
import { connectErrorOf, SIGN_IN_ERROR, UpstreamFailure } from '../../dataplane/upstream/upstream.ts';
import type { Upstreams } from '../../dataplane/upstream/upstream.ts';
import { diagnose } from './diagnose.ts';
import type { Diagnosis } from './diagnose.ts';
import type { Probe } from './plan.ts';

export interface ProbeResult extends Diagnosis {
  readonly probe: Probe;
  /** What the channel was asked for. */
  readonly asked: 'Count' | 'Call';
}

const MAX_ANSWER_BYTES = 64 * 1024;
const MESSAGES = [{ role: 'user', content: 'hi' }];
/** Statuses that a missing endpoint may have: the model is asked itself. */
const NO_COUNTER: ReadonlySet<number> = new Set([400, 404, 405, 501]);

/** Whether a channel of this kind counts tokens, so that its probe may cost nothing. */
export function countsTokens(probe: Probe): boolean {
  return counterOf(probe) !== undefined;
}

/** OpenAI's protocol counts by its Responses, which few of its providers have. */
function counterOf({ target: { protocol } }: Probe): TokenCounter | undefined {
  return protocol === 'OpenAI' ? undefined : providerOf(protocol).tokenCounters?.Anthropic;
}

/** Never rejects. */
export async function askChannel(upstreams: Upstreams, probe: Probe): Promise<ProbeResult> {
  const { upstreamModel } = probe;
  const counter = counterOf(probe);
  if (counter) {
    const { body, parsed } = bodyOf(probe, false);
    const counted = await send(upstreams, probe, (plan) => counter.request(body, parsed, { ...plan, upstreamModel }));
    const count = counted.status === 200 ? counter.read(counted.body) : undefined;
    if (count !== undefined) return { probe, asked: 'Count', message: 'serves' };
    if (!NO_COUNTER.has(counted.status)) return { probe, asked: 'Count', ...diagnosisOf(probe, counted) };
  }
  return { probe, asked: 'Call', ...diagnosisOf(probe, await call(upstreams, probe)) };
}

function call(upstreams: Upstreams, probe: Probe): Promise<Answer> {
  const {
    model,
    target: { protocol },
    upstreamModel,
  } = probe;
  const { body, parsed } = bodyOf(probe, true);
  const converter = converterFor(clientOf(probe), protocol);
  const { outputLimitField } = model;
  return send(upstreams, probe, (plan) =>
    converter.request(body, parsed, { ...plan, upstreamModel, maxOutputTokens: 1, outputLimitField }),
  );
}

function clientOf({ target: { protocol } }: Probe): 'OpenAI' | 'Anthropic' {
  return protocol === 'OpenAI' ? 'OpenAI' : 'Anthropic';
}

function bodyOf(
  { model: { name } }: Probe,
  limited: boolean,
): { readonly body: Buffer; readonly parsed: Readonly<Record<string, unknown>> } {
  const parsed = { model: name, ...(limited && { max_tokens: 1 }), messages: MESSAGES };
  return { body: Buffer.from(JSON.stringify(parsed)), parsed };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Instead of an answer. */
  readonly failure?: Diagnosis;
}

type RequestWriter = (plan: Pick<RequestPlan, 'platform'>) => UpstreamBody;

async function send(upstreams: Upstreams, probe: Probe, write: RequestWriter): Promise<Answer> {
  const { target } = probe;
  const given = betasOf(probe);
  const platform = platformPlanOf(probe, { stream: false, headers: given });
  const { path, body } = write({ platform });
  try {
    const {
      status,
      headers,
      body: pieces,
    } = await upstreams.send(target, {
      method: 'POST',
      path: toPlatformPath(path, platform),
      body,
      stream: false,
      signal: new AbortController().signal,
      headers: { ...toPlatformHeaders(given, platform), 'content-type': 'application/json' },
    });
    return { status, headers, body: await collectUpTo(pieces, MAX_ANSWER_BYTES) };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return { status: 0, headers: {}, body: Buffer.alloc(0), failure: failureOf(error) };
  }
}

/** The flags that the channel's own rules let through, which nothing else tries. */
function betasOf({ target: { betas } }: Probe): Record<string, string> {
  const flags = [...(betas?.allow.filter((flag) => !flag.endsWith('*')) ?? []), ...Object.keys(betas?.rename ?? {})];
  return flags.length > 0 ? { 'anthropic-beta': flags.join(',') } : {};
}

function diagnosisOf({ target: { protocol } }: Probe, { status, headers, body, failure }: Answer): Diagnosis {
  if (failure) return failure;
  if (status >= 200 && status < 300) return readAnswer(body);
  const { message, code, type, status: meant = status } = providerOf(protocol).readError(status, body);
  return diagnose({ status: meant, message, code: headers['x-amzn-errortype'] ?? code ?? type ?? '' });
}

/** A page of a proxy or a portal is not an answer. */
function readAnswer(body: Uint8Array): Diagnosis {
  try {
    JSON.parse(Buffer.from(body).toString('utf8'));
    return { message: 'serves' };
  } catch {
    return { problem: 'Address', message: 'the answer is not JSON: check baseUrl' };
  }
}

function failureOf(error: UpstreamFailure): Diagnosis {
  const code = connectErrorOf(error);
  switch (error.kind) {
    case 'SignIn':
      return {
        problem: 'Credential',
        message: `no token (${code.slice(SIGN_IN_ERROR.length)}): check auth and the identity`,
      };
    case 'Connect':
      return {
        problem: 'Address',
        message: isForwardProxyError(code)
          ? `the forward proxy makes no connection (${code}): check it, and proxyUrl or HTTPS_PROXY`
          : `no connection (${code}): check baseUrl and the network`,
      };
    case 'Timeout':
    case 'Idle':
      return { problem: 'Unavailable', message: 'no answer in time' };
    default:
      return { problem: 'Unavailable', message: 'the connection broke off' };
  }
}

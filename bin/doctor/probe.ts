/**
 * Asks a channel as the data plane would: a count of tokens where the provider has it, which costs nothing, and else a
 * call of one token.
 */
import { SYSTEM_CLOCK } from '../../dataplane/clock.ts';
import { planRequest, sendToChannel } from '../../dataplane/pipeline/channel-call.ts';
import type { AttemptFailure } from '../../dataplane/pipeline/failures.ts';
import type { RequestPlan, UpstreamBody } from '../../dataplane/protocol/converter.ts';
import type { TokenCounter } from '../../dataplane/protocol/provider.ts';
import { converterFor, providerOf } from '../../dataplane/protocol/providers.ts';
import { collectUpTo } from '../../dataplane/upstream/collect.ts';
import { isForwardProxyError } from '../../dataplane/upstream/forward-proxy.ts';
import { SIGN_IN_ERROR, UpstreamFailure } from '../../dataplane/upstream/upstream.ts';
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
    const counted = await send(upstreams, probe, ({ platform }) =>
      counter.request(body, parsed, { platform, upstreamModel }),
    );
    const count = counted instanceof Uint8Array ? counter.read(counted) : undefined;
    if (count !== undefined) return { probe, asked: 'Count', message: 'serves' };
    if (!mayHaveNoCounter(counted)) return { probe, asked: 'Count', ...diagnosisOf(counted) };
  }
  return { probe, asked: 'Call', ...diagnosisOf(await call(upstreams, probe)) };
}

function mayHaveNoCounter(answer: Answer): boolean {
  return !(answer instanceof Uint8Array) && answer.kind === 'Refused' && NO_COUNTER.has(answer.status);
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
  return send(upstreams, probe, ({ platform }) =>
    converter.request(body, parsed, { platform, upstreamModel, maxOutputTokens: 1, outputLimitField }),
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

/** The body of a response, or why there is none. */
type Answer = Uint8Array | AttemptFailure;

type RequestWriter = (plan: Pick<RequestPlan, 'platform'>) => UpstreamBody;

async function send(upstreams: Upstreams, probe: Probe, write: RequestWriter): Promise<Answer> {
  const deps = { upstreams, clock: SYSTEM_CLOCK };
  const plan = planRequest(deps, probe, { headers: betasOf(probe), account: '', stream: false });
  const { path, body } = write(plan);
  const { signal } = new AbortController();
  const request = { method: 'POST', path, body, signal, needsContent: true } as const;
  const result = await sendToChannel(deps, plan, { ...request, attempts: [] });
  if ('kind' in result) return result;
  try {
    return await collectUpTo(result.body, MAX_ANSWER_BYTES);
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return { kind: 'Broken', failure: error.kind };
  }
}

/** The flags that the channel's own rules let through, which nothing else tries. */
function betasOf({ target: { betas } }: Probe): Record<string, string> {
  const flags = [...(betas?.allow.filter((flag) => !flag.endsWith('*')) ?? []), ...Object.keys(betas?.rename ?? {})];
  return flags.length > 0 ? { 'anthropic-beta': flags.join(',') } : {};
}

function diagnosisOf(answer: Answer): Diagnosis {
  if (answer instanceof Uint8Array) return readAnswer(answer);
  if (answer.kind === 'Broken') return failureOf(answer);
  const { status, headers, error } = answer;
  const { message, code, type } = error;
  return diagnose({ status, message, code: headers['x-amzn-errortype'] ?? code ?? type ?? '' });
}

/** A page of a proxy or a portal is not an answer. */
function readAnswer(body: Uint8Array): Diagnosis {
  try {
    JSON.parse(Buffer.from(body).toString('utf8'));
    return { message: 'serves' };
  } catch {
    return { problem: 'Address', message: 'the response is not JSON: check baseUrl' };
  }
}

function failureOf({ failure, connectError = '' }: Extract<AttemptFailure, { kind: 'Broken' }>): Diagnosis {
  switch (failure) {
    case 'SignIn':
      return {
        problem: 'Credential',
        message: `no token (${connectError.slice(SIGN_IN_ERROR.length)}): check auth and the identity`,
      };
    case 'Connect':
      return {
        problem: 'Address',
        message: isForwardProxyError(connectError)
          ? `the forward proxy cannot connect (${connectError}): check the proxy, and proxyUrl or HTTPS_PROXY`
          : `no connection (${connectError}): check baseUrl and the network`,
      };
    case 'Timeout':
    case 'Idle':
      return { problem: 'Unavailable', message: 'timed out' };
    default:
      return { problem: 'Unavailable', message: 'the connection broke' };
  }
}

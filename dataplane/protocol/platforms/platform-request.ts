/**
 * Adapts a protocol's request to a cloud that serves it under another path, with the model in the path and other
 * members in the body. The protocol's responses do not change.
 */
import type { UpstreamBody } from '../converter.ts';
import { isRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { parseObject, writeJson } from '../json-value.ts';
import { editsWithout } from './beta-members.ts';
import { chooseBetas } from './betas.ts';
import type { BetaRules, ChosenBetas } from './betas.ts';

/** How a request is adapted to a channel's platform. Plain values, because another thread may do it. */
export interface PlatformPlan {
  readonly platform: 'Direct' | 'AzureDeployments' | 'BedrockInvoke' | 'VertexPublisher';
  /** The model's name at the provider. */
  readonly model: string;
  /** For AzureDeployments only. */
  readonly apiVersion: string;
  readonly stream: boolean;
  /** The header anthropic-beta. */
  readonly betas: string | undefined;
  /** The channel's own rules for them. */
  readonly betaRules?: BetaRules | undefined;
}

/** The prefix of dropped flags in the list of fields that were left out. */
export const DROPPED_BETA = 'anthropic-beta=';

const BEDROCK_VERSION = '"bedrock-2023-05-31"';
const VERTEX_VERSION = '"vertex-2023-10-16"';
const MESSAGES = '/v1/messages';
const COUNT_TOKENS = '/v1/messages/count_tokens';
const GEMINI_MODELS = '/v1beta/models/';

/** Returns the request unchanged if there is no plan: the channel serves the protocol's own API. */
export function toPlatformRequest(sent: UpstreamBody, plan: PlatformPlan | undefined): UpstreamBody {
  switch (plan?.platform) {
    case undefined:
      return sent;
    case 'Direct':
      return withoutBetas(sent, plan);
    case 'AzureDeployments':
      return { ...sent, path: azurePath(sent.path, plan) };
    case 'BedrockInvoke':
      return toBedrock(sent, plan);
    case 'VertexPublisher':
      return toVertex(withoutBetas(sent, plan), plan);
  }
}

/** Removes the members of the body that belong to flags which the provider does not get. */
function withoutBetas(sent: UpstreamBody, plan: PlatformPlan): UpstreamBody {
  const { dropped, members } = betasOf(plan);
  return withDropped({ ...sent, body: editObject(sent.body, editsWithout(sent.body, members)) }, dropped);
}

function betasOf({ betas, platform, betaRules }: PlatformPlan): ChosenBetas {
  return chooseBetas(betas, platform, betaRules);
}

function withDropped(sent: UpstreamBody, flags: readonly string[]): UpstreamBody {
  if (flags.length === 0) return sent;
  return { ...sent, dropped: [...(sent.dropped ?? []), ...flags.map((flag) => DROPPED_BETA + flag)] };
}

/** Leaves out headers that the cloud refuses, or takes in the body. */
export function toPlatformHeaders(
  headers: Readonly<Record<string, string>>,
  plan: PlatformPlan | undefined,
): Record<string, string> {
  const { 'anthropic-beta': betas, ...others } = headers;
  if (!plan || plan.platform === 'AzureDeployments' || (betas === undefined && plan.platform !== 'BedrockInvoke'))
    return { ...headers };
  if (plan.platform !== 'BedrockInvoke') {
    const { kept } = betasOf(plan);
    return kept.length === 0 ? others : { ...others, 'anthropic-beta': kept.join(',') };
  }
  const { 'anthropic-version': _version, ...rest } = others;
  return rest;
}

function azurePath(path: string, { model, apiVersion }: PlatformPlan): string {
  const version = `${path.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(apiVersion)}`;
  return `/openai/deployments/${encodeURIComponent(model)}${path}${version}`;
}

function toBedrock(sent: UpstreamBody, plan: PlatformPlan): UpstreamBody {
  const { model, stream } = plan;
  const { kept, dropped, members } = betasOf(plan);
  const counts = sent.path === COUNT_TOKENS;
  const edits = new Map<string, JsonEdit>([
    ['model', undefined],
    ['stream', undefined],
    ['anthropic_version', BEDROCK_VERSION],
    ...editsWithout(sent.body, members),
    ...(counts ? [['max_tokens', COUNTED_MAX_TOKENS] as const] : []),
    ...(kept.length > 0 ? [['anthropic_beta', JSON.stringify(kept)] as const] : []),
  ]);
  const body = editObject(sent.body, edits);
  const base = `/model/${encodeURIComponent(model)}`;
  if (counts) return { ...sent, path: `${base}/count-tokens`, body: countRequest(body) };
  return withDropped({ ...sent, path: `${base}/invoke${stream ? '-with-response-stream' : ''}`, body }, dropped);
}

/** CountTokens takes the body of InvokeModel, in base64. */
function countRequest(body: Uint8Array): Uint8Array {
  return Buffer.from(JSON.stringify({ input: { invokeModel: { body: Buffer.from(body).toString('base64') } } }));
}

/** InvokeModel wants a limit, which has to be above any budget of thinking. */
const COUNTED_MAX_TOKENS = '64000';

function toVertex(sent: UpstreamBody, { model, stream }: PlatformPlan): UpstreamBody {
  const models = '/publishers/anthropic/models';
  if (sent.path === COUNT_TOKENS)
    return {
      ...sent,
      path: `${models}/count-tokens:rawPredict`,
      body: editObject(sent.body, new Map([['anthropic_version', VERTEX_VERSION]])),
    };
  if (sent.path.startsWith(GEMINI_MODELS)) return toVertexGemini(sent);
  if (sent.path !== MESSAGES) return sent;
  return {
    ...sent,
    path: `${models}/${encodeModel(model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
    body: editObject(
      sent.body,
      new Map<string, JsonEdit>([
        ['model', undefined],
        ['anthropic_version', VERTEX_VERSION],
      ]),
    ),
  };
}

/** Vertex counts the tokens of a request's own members. */
function toVertexGemini(sent: UpstreamBody): UpstreamBody {
  const path = `/publishers/google/models/${sent.path.slice(GEMINI_MODELS.length)}`;
  if (!path.endsWith(':countTokens')) return { ...sent, path };
  const { generateContentRequest: counted } = parseObject(sent.body);
  const { model: _model, ...members } = isRecord(counted) ? counted : {};
  return { ...sent, path, body: Buffer.from(writeJson(members)) };
}

/** Vertex's own clients write the date after a bare @. */
function encodeModel(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@');
}

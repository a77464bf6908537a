/**
 * What a cloud changes of a protocol's request: it serves it under another path, takes other headers, and has the model
 * in the path and other members in the body. Writers ask for the members before they write, so that bytes are written
 * once. The protocol's responses do not change.
 */
import type { DroppedFields } from '../dropped-fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { ChangedMembers } from '../json-edit.ts';
import { membersWithout } from './beta-members.ts';
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

const BEDROCK_VERSION = 'bedrock-2023-05-31';
const VERTEX_VERSION = 'vertex-2023-10-16';
const MESSAGES = '/v1/messages';
const COUNT_TOKENS = '/v1/messages/count_tokens';
const GEMINI_MODELS = '/v1beta/models/';

/** Returns the path unchanged if there is no plan: the channel serves the protocol's own API. */
export function toPlatformPath(path: string, plan: PlatformPlan | undefined): string {
  switch (plan?.platform) {
    case undefined:
    case 'Direct':
      return path;
    case 'AzureDeployments':
      return azurePath(path, plan);
    case 'BedrockInvoke':
      return bedrockPath(path, plan);
    case 'VertexPublisher':
      return vertexPath(path, plan);
  }
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

interface PlatformContext {
  readonly plan: PlatformPlan | undefined;
  /** The request as it would be sent to the protocol's own API. */
  readonly given: () => JsonRecord;
  /** Collects the flags of anthropic-beta that the provider does not get. */
  readonly dropped: DroppedFields;
}

/** The members of a messages request that its platform has otherwise. */
export function platformMembers({ plan, given, dropped }: PlatformContext): ChangedMembers {
  if (!plan || plan.platform === 'AzureDeployments') return new Map();
  const betas = betasOf(plan);
  for (const flag of betas.dropped) dropped.add(DROPPED_BETA + flag);
  const without = membersWithout(given, betas.members);
  switch (plan.platform) {
    case 'Direct':
      return without;
    case 'BedrockInvoke':
      return new Map<string, unknown>([
        ['model', undefined],
        ['stream', undefined],
        ['anthropic_version', BEDROCK_VERSION],
        ...without,
        ...(betas.kept.length > 0 ? [['anthropic_beta', betas.kept] as const] : []),
      ]);
    case 'VertexPublisher':
      return new Map<string, unknown>([...without, ['model', undefined], ['anthropic_version', VERTEX_VERSION]]);
  }
}

/** InvokeModel wants a limit, which has to be above any budget of thinking. */
const COUNTED_MAX_TOKENS = 64_000;

/** The same of a request whose tokens are counted. */
export function platformCountMembers(context: PlatformContext): ChangedMembers {
  const members = new Map(platformMembers(context));
  if (context.plan?.platform === 'VertexPublisher') members.delete('model');
  if (context.plan?.platform === 'BedrockInvoke') members.set('max_tokens', COUNTED_MAX_TOKENS);
  return members;
}

/** CountTokens of Bedrock takes the body of InvokeModel, in base64. Undefined: the platform takes the body itself. */
export function wrappedCount(plan: PlatformPlan | undefined, write: () => Uint8Array): JsonRecord | undefined {
  if (plan?.platform !== 'BedrockInvoke') return undefined;
  return { input: { invokeModel: { body: Buffer.from(write()).toString('base64') } } };
}

function betasOf({ betas, platform, betaRules }: PlatformPlan): ChosenBetas {
  return chooseBetas(betas, platform, betaRules);
}

function azurePath(path: string, { model, apiVersion }: PlatformPlan): string {
  const version = `${path.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(apiVersion)}`;
  return `/openai/deployments/${encodeURIComponent(model)}${path}${version}`;
}

function bedrockPath(path: string, { model, stream }: PlatformPlan): string {
  const base = `/model/${encodeURIComponent(model)}`;
  if (path === COUNT_TOKENS) return `${base}/count-tokens`;
  return `${base}/invoke${stream ? '-with-response-stream' : ''}`;
}

function vertexPath(path: string, { model, stream }: PlatformPlan): string {
  const models = '/publishers/anthropic/models';
  if (path === COUNT_TOKENS) return `${models}/count-tokens:rawPredict`;
  if (path === MESSAGES) return `${models}/${encodeModel(model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
  return path.startsWith(GEMINI_MODELS) ? `/publishers/google/models/${path.slice(GEMINI_MODELS.length)}` : path;
}

/** Vertex's own clients write the date after a bare @. */
function encodeModel(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@');
}

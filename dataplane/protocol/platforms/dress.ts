/**
 * Dresses a protocol's request for a cloud that has it under another path, with the model in the path and other members
 * in the body. The protocol's answers stay as they are.
 */
import type { UpstreamBody } from '../converter.ts';
import { editObject } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { chooseBetas } from './betas.ts';

/** Plain values, because a request may be dressed in another thread. */
export interface Dress {
  readonly platform: 'AzureDeployments' | 'BedrockInvoke' | 'VertexPublisher';
  /** The model's name at the provider. */
  readonly model: string;
  /** Of AzureDeployments. */
  readonly apiVersion: string;
  readonly stream: boolean;
  /** The header anthropic-beta. */
  readonly betas: string | undefined;
}

const BEDROCK_VERSION = '"bedrock-2023-05-31"';
const VERTEX_VERSION = '"vertex-2023-10-16"';
const MESSAGES = '/v1/messages';
const COUNT_TOKENS = '/v1/messages/count_tokens';

/** Undefined: the protocol's own API. */
export function dressRequest(sent: UpstreamBody, dress: Dress | undefined): UpstreamBody {
  switch (dress?.platform) {
    case undefined: return sent;
    case 'AzureDeployments': return { ...sent, path: azurePath(sent.path, dress) };
    case 'BedrockInvoke': return dressForBedrock(sent, dress);
    case 'VertexPublisher': return dressForVertex(sent, dress);
  }
}

/** Headers that stay behind, because the cloud reads them elsewhere or refuses them. */
export function undressedHeaders({ platform }: Dress): readonly string[] {
  return platform === 'BedrockInvoke' ? ['anthropic-beta', 'anthropic-version'] : [];
}

function azurePath(path: string, { model, apiVersion }: Dress): string {
  const version = `${path.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(apiVersion)}`;
  return `/openai/deployments/${encodeURIComponent(model)}${path}${version}`;
}

function dressForBedrock(sent: UpstreamBody, { model, stream, betas }: Dress): UpstreamBody {
  const { kept, dropped, members } = chooseBetas(betas);
  const edits = new Map<string, JsonEdit>([
    ['model', undefined], ['stream', undefined], ['anthropic_version', BEDROCK_VERSION],
    ...members.map((member) => [member, undefined] as const),
    ...kept.length > 0 ? [['anthropic_beta', JSON.stringify(kept)] as const] : [],
  ]);
  const path = `/model/${encodeURIComponent(model)}/invoke${stream ? '-with-response-stream' : ''}`;
  return {
    ...sent, path, body: editObject(sent.body, edits),
    ...dropped.length > 0 && { dropped: [...sent.dropped ?? [], ...dropped.map((flag) => `anthropic-beta=${flag}`)] },
  };
}

function dressForVertex(sent: UpstreamBody, { model, stream }: Dress): UpstreamBody {
  const models = '/publishers/anthropic/models';
  if (sent.path === COUNT_TOKENS) return {
    ...sent, path: `${models}/count-tokens:rawPredict`,
    body: editObject(sent.body, new Map([['anthropic_version', VERTEX_VERSION]])),
  };
  if (sent.path !== MESSAGES) return sent;
  return {
    ...sent, path: `${models}/${encodeModel(model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
    body: editObject(sent.body, new Map<string, JsonEdit>([
      ['model', undefined], ['anthropic_version', VERTEX_VERSION],
    ])),
  };
}

/** Vertex's own clients write the date after a bare @. */
function encodeModel(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@');
}

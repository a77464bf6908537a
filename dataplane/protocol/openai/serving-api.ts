/**
 * Chooses the API of OpenAI's protocol that serves a chat where a channel has both: some models have no chat
 * completions, and others do not both reason and call tools there.
 */
import { capabilitiesOf, OPENAI_MODELS } from '../capabilities.ts';
import type { StatedCapabilities } from '../capabilities.ts';
import { itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { reasonsByDefault } from './model-features.ts';

/** Chat: chat completions. */
export type ServingApi = 'Chat' | 'Responses';

/** The lowest output limit that Responses take. */
export const MIN_RESPONSE_TOKENS = 16;

/** Whether the model may reason and call tools in one response. ByDefault: unless it reasons only when asked to. */
export type ToolReasoning = 'Yes' | 'No' | 'ByDefault';

/** What a request of chat completions asks for. */
export function toolReasoningOfChat({ tools, functions, reasoning_effort: effort }: JsonRecord): ToolReasoning {
  if (itemsOf(tools).length + itemsOf(functions).length === 0 || effort === 'none') return 'No';
  return typeof effort === 'string' ? 'Yes' : 'ByDefault';
}

/** What a request of another protocol asks for. Responses serve it whatever it says of reasoning. */
export function toolReasoningOfOthers({ tools }: JsonRecord): ToolReasoning {
  return itemsOf(tools).length > 0 ? 'Yes' : 'No';
}

export interface ServedModel {
  /** What the channel's provider serves. */
  readonly endpoints: { has(api: ServingApi): boolean };
  readonly upstreamModel: string;
  readonly capabilities: StatedCapabilities | undefined;
}

export function servingApi({ endpoints, upstreamModel, capabilities }: ServedModel, asked: ToolReasoning): ServingApi {
  if (!endpoints.has('Responses')) return 'Chat';
  if (!endpoints.has('Chat')) return 'Responses';
  const { chatCompletions, chatToolsWithReasoning } = capabilitiesOf(OPENAI_MODELS, upstreamModel, capabilities);
  const reasons = asked === 'Yes' || (asked === 'ByDefault' && reasonsByDefault(upstreamModel));
  return !chatCompletions || (reasons && !chatToolsWithReasoning) ? 'Responses' : 'Chat';
}

/** Writes a conversation as a messages request. */
import { createHash } from 'node:crypto';
import { RequestFault } from '../../call-facts.ts';
import { ANTHROPIC_MODELS, capabilitiesOf } from '../../capabilities.ts';
import type { ModelCapabilities } from '../../capabilities.ts';
import { prepare } from '../../conversation/prepare.ts';
import type { PlacedSystem } from '../../conversation/repairs/place-system.ts';
import { markCaches } from '../../conversation/repairs/cache-marks.ts';
import { endForModel } from '../../conversation/repairs/ends.ts';
import type { Conversation, Located, Settings, Turn } from '../../conversation/request.ts';
import { keptValue, refuseCheaperTier, takeSettings } from '../../conversation/take.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { withChanges } from '../../json-edit.ts';
import { ToolNames } from '../../tool-ids.ts';
import { malformed } from '../../unsupported.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import { platformMembers } from '../../platforms/platform-request.ts';
import { schemaFormat } from '../schema-format.ts';
import { claudeSampling, claudeStops } from '../claude-sampling.ts';
import type { SamplingContext } from '../claude-sampling.ts';
import { claudeThinking } from '../claude-thinking.ts';
import { SETTINGS } from './table.ts';
import { writeMessages, writeSystem } from './write-messages.ts';
import { NAME, writeCache } from './write-parts.ts';
import { writeTools } from './write-tools.ts';

/** The API's limits. */
const MAX_NAME_LENGTH = 128;
const MAX_CACHE_MARKS = 4;
const MAX_USER_LENGTH = 256;

export function writeRequest(conversation: Conversation, context: WriteContext): WrittenRequest {
  const { plan, stream, dropped } = context;
  const { upstreamModel: model } = plan;
  const taker = { provider: NAME, dropped };
  refuseCheaperTier(conversation.settings, taker);
  const settings = takeSettings(SETTINGS, conversation.settings, taker);
  const capabilities = capabilitiesOf(ANTHROPIC_MODELS, model, plan.capabilities);
  const { schema, heldValue, instructions } = schemaFormat(settings.responseFormat, capabilities, dropped);
  const { system, turns: prepared } = prepareTurns(conversation.turns, capabilities.prefill);
  const maxTokens = limitOf(plan.maxOutputTokens, settings.maxOutputTokens);
  const { thinking, effort, thinks } = claudeThinking(settings, {
    model,
    maxTokens,
    turns: prepared,
    capabilities,
    dropped,
  });
  // a model that thinks cannot go on with a turn of the assistant
  const turns = endForModel(prepared, capabilities.prefill && !thinks);
  const parts = { tools: conversation.tools, system: [...system, ...instructions], turns };
  const automaticCaching = conversation.automaticCaching === true && capabilities.promptCaching;
  const marked = markCaches(parts, { automaticCaching, settings }, MAX_CACHE_MARKS);
  if (marked.removed) dropped.add('cache_control');
  const names = new ToolNames(MAX_NAME_LENGTH);
  const { tools, choice } = writeTools(marked.tools, settings, { names, dropped, capabilities, turns });
  const body = {
    model,
    max_tokens: maxTokens,
    system: writeSystem(marked.system),
    messages: writeMessages(marked.turns, names),
    stream: stream ? true : undefined,
    ...writeSampling(settings, { thinks, capabilities, dropped }),
    tools,
    tool_choice: choice,
    thinking,
    output_config: effort === undefined && schema === undefined ? undefined : { effort, format: writeFormat(schema) },
    metadata: settings.user && { user_id: writeUser(settings.user.value) },
    service_tier: writeTier(settings.serviceTier, dropped),
    cache_control: settings.cache && writeCache(settings.cache.value),
  };
  const changed = platformMembers({ plan: plan.platform, given: () => body, dropped });
  return { path: '/v1/messages', body: withChanges(body, changed), toolNames: names.original, heldValue };
}

/** Throws RequestFault where nobody says anything. */
function prepareTurns(given: readonly Turn[], prefill: boolean): PlacedSystem {
  const prepared = prepare(given, {
    reasoning: { proofs: ['Anthropic'], readable: false },
    system: 'AsUserText',
    assistantImages: false,
    alternates: true,
    blanks: false,
    prefill,
  });
  if (prepared.turns.length === 0) throw malformed(given[0]?.path ?? 'messages', 'one that says something');
  return prepared;
}

/** The API requires a limit. */
function limitOf(planned: number | undefined, given: Settings['maxOutputTokens']): number {
  const limit = planned ?? given?.value;
  if (limit === undefined)
    throw new RequestFault('invalid_request', 'The field "max_tokens" is needed for this model.', 'max_tokens');
  return limit;
}

interface SettingsContext extends SamplingContext {
  readonly capabilities: ModelCapabilities;
}

function writeSampling(settings: Settings, context: SettingsContext): JsonRecord {
  const { thinks, capabilities, dropped } = context;
  const { temperature, topP } = claudeSampling(settings, context);
  return {
    temperature,
    top_p: topP,
    top_k: keptValue(settings.topK, capabilities.temperature && !thinks, dropped),
    stop_sequences: keptValue(claudeStops(settings.stop, dropped), capabilities.stopSequences, dropped),
  };
}

/** The API refuses long ids, and those that look like an address or a telephone number. A digest tells users apart. */
function writeUser(user: string): string {
  const isRefused = user.length > MAX_USER_LENGTH || user.includes('@') || /^\+?[\d\s().-]{7,}$/.test(user);
  return isRefused ? createHash('sha256').update(user).digest('hex') : user;
}

function writeTier(tier: Located<string> | undefined, dropped: DroppedFields): string | undefined {
  if (tier?.value === 'standard') return 'standard_only';
  if (tier) dropped.add(tier.path);
  return undefined;
}

function writeFormat(schema: JsonRecord | undefined): JsonRecord | undefined {
  return schema && { type: 'json_schema', schema };
}

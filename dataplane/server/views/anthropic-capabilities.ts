/**
 * [P] The capabilities of a model in Anthropic's list of models: those that every channel that may serve it has.
 * Unknown capabilities are not claimed.
 */
import {
  ANTHROPIC_MODELS,
  capabilitiesOf,
  CONVERSE_MODELS,
  GEMINI_MODELS,
  OPENAI_MODELS,
} from '../../protocol/capabilities.ts';
import { offeredChannels } from '../../state/offered-channels.ts';
import type { Candidate, Offer } from '../../state/state.ts';

interface Support {
  readonly supported: boolean;
}

export interface AnthropicCapabilities {
  readonly batch: Support;
  readonly citations: Support;
  readonly code_execution: Support;
  readonly context_management: Support &
    Readonly<Record<'clear_thinking_20251015' | 'clear_tool_uses_20250919' | 'compact_20260112', null>>;
  readonly effort: Support & Readonly<Record<'low' | 'medium' | 'high' | 'max', Support>> & { readonly xhigh: null };
  readonly image_input: Support;
  readonly pdf_input: Support;
  readonly server_tools: Support & Readonly<Record<'code_execution' | 'web_search', Support>>;
  readonly structured_outputs: Support;
  readonly thinking: Support & {
    readonly types: Readonly<Record<'adaptive' | 'between_tools' | 'disabled' | 'enabled', Support>>;
  };
}

const NO: Support = { supported: false };

export function anthropicCapabilities(offer: Offer): AnthropicCapabilities {
  const chats = offeredChannels(offer).filter(({ model }) => model.endpoints.has('Chat'));
  const everywhere = (holds: (candidate: Candidate) => boolean): Support => ({
    supported: chats.length > 0 && chats.every(holds),
  });
  const native = everywhere(isNative);
  const reasoning = everywhere((candidate) => capabilities(candidate).reasoning);
  // only the converter is known to accept an effort, whatever the model's version
  const effort = everywhere((candidate) => !isNative(candidate) && capabilities(candidate).reasoning);
  const serverTools = everywhere((candidate) => isNative(candidate) && candidate.model.allow.has('ServerTools'));
  const images = everywhere(({ model }) => model.acceptsImages);
  return {
    batch: everywhere((candidate) => isNative(candidate) && candidate.target.endpoints.has('Batches')),
    citations: native,
    code_execution: serverTools,
    context_management: {
      ...NO,
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
    },
    effort: { ...effort, low: effort, medium: effort, high: effort, max: NO, xhigh: null },
    image_input: images,
    pdf_input: images,
    server_tools: { ...serverTools, code_execution: serverTools, web_search: serverTools },
    structured_outputs: everywhere((candidate) => capabilities(candidate).strictSchemas),
    thinking: {
      ...reasoning,
      types: { adaptive: NO, between_tools: NO, disabled: { supported: true }, enabled: reasoning },
    },
  };
}

function isNative({ target }: Candidate): boolean {
  return target.protocol === 'Anthropic';
}

const KNOWN_MODELS = {
  OpenAI: OPENAI_MODELS,
  Anthropic: ANTHROPIC_MODELS,
  BedrockConverse: CONVERSE_MODELS,
  Gemini: GEMINI_MODELS,
} as const;

function capabilities(candidate: Candidate): ReturnType<typeof capabilitiesOf> {
  return capabilitiesOf(KNOWN_MODELS[candidate.target.protocol], candidate.upstreamModel, candidate.model.capabilities);
}

/** [P] A model's facts as pages show them: inputs and outputs with icons and words, and limits. */
import { html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import type { Modality, ModelFacts } from './model-facts.ts';
import type { PricingRow } from './price-list.ts';

/** The uses of models that the filter offers. */
export const USES = [
  'chat',
  'vision',
  'embeddings',
  'images',
  'videos',
  'speech',
  'transcriptions',
  'realtime',
] as const;
export type Use = (typeof USES)[number];

export const USE_NAMES: Readonly<Record<Use, string>> = {
  chat: 'Chat',
  vision: 'Chat with images',
  embeddings: 'Embeddings',
  images: 'Makes images',
  videos: 'Makes videos',
  speech: 'Speaks',
  transcriptions: 'Transcribes',
  realtime: 'Talks',
};

/** The options of the filter by context: the least number of tokens. */
export const CONTEXTS = [32_000, 128_000, 200_000, 1_000_000] as const;

/** The uses that a model serves; none where no route serves it. */
export function usesOf({ facts }: Pick<PricingRow, 'facts'>): Use[] {
  if (!facts) return [];
  const { endpoints, inputs } = facts;
  const serves: Readonly<Record<Use, boolean>> = {
    chat: endpoints.includes('Chat'),
    vision: endpoints.includes('Chat') && inputs.includes('image'),
    embeddings: endpoints.includes('Embeddings'),
    images: endpoints.includes('Images'),
    videos: endpoints.includes('Videos'),
    speech: endpoints.includes('Speech'),
    transcriptions: endpoints.includes('Transcriptions'),
    realtime: endpoints.includes('Realtime'),
  };
  return USES.filter((use) => serves[use]);
}

/** The context in tokens; 0: not stated. */
export function contextOf({ facts }: Pick<PricingRow, 'facts'>): number {
  return facts?.contextTokens ?? 0;
}

/** "text, image → text · 200K context · 64K output"; nothing where no route serves the model. */
export function renderFactsLine(facts: ModelFacts | undefined): Html {
  if (!facts) return NOTHING;
  const { inputs, outputs, contextTokens, maxOutputTokens } = facts;
  return html`<small class="facts-line"
    ><span class="io"
      >${renderModalities(inputs)}<span class="to" aria-hidden="true">→</span
      ><span class="vh"> to </span>${renderModalities(outputs)}</span
    >${
      contextTokens === null ? NOTHING : html`<span>${formatTokens(contextTokens)} context</span>`
    }${maxOutputTokens === null ? NOTHING : html`<span>${formatTokens(maxOutputTokens)} output</span>`}</small
  >`;
}

/** Each with its icon and its word. */
export function renderModalities(modalities: readonly Modality[]): Html {
  return html`${modalities.map(
    (modality, index) => html`${index > 0 ? ' ' : ''}<span class="modality ${modality}">${modality}</span>`,
  )}`;
}

/** "200K", "1M", "8,192": exact, in thousands where it is round. */
export function formatTokens(tokens: number): string {
  if (tokens >= 1_000_000 && tokens % 100_000 === 0) return `${tokens / 1_000_000}M`;
  return tokens >= 1000 && tokens % 1000 === 0 ? `${tokens / 1000}K` : tokens.toLocaleString('en-US');
}

/**
 * [P] The most input tokens of one image where a ModelRoute does not say, by the names of the model. Too small a bound
 * costs the platform the difference.
 */
import type { ModelRouteChannel, ModelRouteModel } from '#crds/types.gen.ts';

const DEFAULT_TOKENS = 4096;
/** Models that count more for a large image, by a part of their name. */
const KNOWN: readonly { readonly name: RegExp; readonly tokens: number }[] = [
  // 8 tiles of 5,667 and a base of 2,833
  { name: /gpt-4o-mini/i, tokens: 49_152 },
  // up to 10,000 patches in the detail "original", a token each, and a fifth of margin
  { name: /gpt-5[.][4-9]/i, tokens: 12_288 },
  // scaled to 2576 pixels and 3.75 megapixels: 5,000 tokens at 750 pixels each, and a fifth of margin
  { name: /claude-(?:opus|sonnet)-(?:4[-.][7-9]|[5-9])/i, tokens: 6_144 },
];

/** By the model's own name and those at its channels' providers. */
export function imageTokensOf(
  { name, imageTokens }: Pick<ModelRouteModel, 'name' | 'imageTokens'>,
  channels: readonly Pick<ModelRouteChannel, 'models'>[],
): number {
  if (imageTokens !== undefined) return imageTokens;
  const renamed = channels.flatMap(({ models = [] }) => models.filter((model) => model.name === name));
  const names = [name, ...renamed.map(({ upstreamName }) => upstreamName)];
  const known = KNOWN.filter((each) => names.some((one) => each.name.test(one))).map(({ tokens }) => tokens);
  return Math.max(DEFAULT_TOKENS, ...known);
}

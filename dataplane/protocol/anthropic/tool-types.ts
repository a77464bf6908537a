/**
 * Anthropic's tools by type: the cost of tools that the client runs is bounded by the call's tokens; that of tools that
 * the provider runs is not.
 */
import type { PricedUse, PricedWay } from '../call-facts.ts';
import type { JsonRecord } from '../fields.ts';

/** With a version date: `bash_20250124`. */
const CLIENT_TOOL = /^(?:bash|text_editor|computer|memory|browser_toolset|computer_toolset)_\d{8}$/;

/** The provider's own definition of such a tool is not in the body; in units of estimate.ts. */
const BUILT_IN_UNITS = 96;
/** A toolset consists of dozens of tools. */
const TOOLSET_UNITS = 1024;

export function isServerTool(type: unknown): boolean {
  return !isCustomTool(type) && !(typeof type === 'string' && CLIENT_TOOL.test(type));
}

/** A tool that the client defines itself. */
export function isCustomTool(type: unknown): boolean {
  return type === undefined || type === null || type === 'custom';
}

export function toolUnits(type: unknown): number {
  if (isCustomTool(type)) return 1;
  return typeof type === 'string' && type.includes('toolset') ? TOOLSET_UNITS : BUILT_IN_UNITS;
}

const PRICED_TOOLS: readonly (readonly [name: RegExp, use: PricedUse])[] = [
  [/^web_search_\d{8}$/, 'webSearch'],
  [/^web_fetch_\d{8}$/, 'webFetch'],
];

/** What bounds the price of a tool that the provider runs; undefined: nothing does. */
export function useOf({ type, max_uses: most }: JsonRecord): PricedWay | undefined {
  if (typeof most !== 'number' || !Number.isSafeInteger(most) || most < 1) return undefined;
  const use = PRICED_TOOLS.find(([name]) => typeof type === 'string' && name.test(type))?.[1];
  return use && { use, most };
}

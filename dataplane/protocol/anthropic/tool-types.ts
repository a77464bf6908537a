/**
 * Anthropic's tools by type: the cost of tools that the client runs is bounded by the call's tokens; that of tools that
 * the provider runs is not.
 */
import type { PricedUse, UnboundedUse } from '../call-facts.ts';
import type { JsonRecord } from '../fields.ts';
import { hasOnly } from '../known-members.ts';

/** With a version date: `bash_20250124`. */
const CLIENT_TOOL = /^(?:bash|text_editor|computer|memory|browser_toolset|computer_toolset)_\d{8}$/;

/** The provider's own definition of such a tool is not in the body; in units of estimate.ts. */
const BUILT_IN_UNITS = 96;
/** A toolset consists of dozens of tools. */
const TOOLSET_UNITS = 1024;

/** Members of tools that the client runs; a tool with any other may be one that a provider runs by it. */
const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'input_examples',
  'strict',
  'cache_control',
  'defer_loading',
  'allowed_callers',
  'eager_input_streaming',
  'display_width_px',
  'display_height_px',
  'display_number',
  'enable_zoom',
  'max_characters',
  'configs',
  'default_config',
]);

export function isServerTool(tool: JsonRecord): boolean {
  const { type } = tool;
  const isClients = isCustomTool(type) || (typeof type === 'string' && CLIENT_TOOL.test(type));
  return !isClients || !hasOnly(tool, TOOL_MEMBERS);
}

const CHOICE_MEMBERS: ReadonlySet<string> = new Set(['type', 'name', 'disable_parallel_tool_use']);

/** Whether a choice among tools has nothing but what chooses one. */
export function isPlainChoice(choice: JsonRecord): boolean {
  return hasOnly(choice, CHOICE_MEMBERS);
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

/** What bounds the price of a tool that the provider runs, or would; empty: nothing does. */
export function boundOf({ type, max_uses: most }: JsonRecord): Pick<UnboundedUse, 'needs' | 'boundBy'> {
  const use = PRICED_TOOLS.find(([name]) => typeof type === 'string' && name.test(type))?.[1];
  if (!use) return {};
  const isLimit = typeof most === 'number' && Number.isSafeInteger(most) && most >= 1;
  return isLimit ? { needs: { use, most } } : { boundBy: { use, field: 'max_uses' } };
}

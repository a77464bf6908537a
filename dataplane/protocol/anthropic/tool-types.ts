/**
 * Anthropic's tools by type: those that the client runs cost tokens of the call; those that the provider runs cost what they like.
 */

/** With the date of their version: `bash_20250124`. */
const CLIENT_TOOL = /^(?:bash|text_editor|computer|memory|browser_toolset|computer_toolset)_\d{8}$/;

/** The provider's own description of such a tool, which is not in the body, in units of estimate.ts. */
const BUILT_IN_UNITS = 96;
/** A toolset brings dozens of tools. */
const TOOLSET_UNITS = 1024;

export function isServerTool(type: unknown): boolean {
  return !isCustomTool(type) && !(typeof type === 'string' && CLIENT_TOOL.test(type));
}

/** A tool that the client describes itself. */
export function isCustomTool(type: unknown): boolean {
  return type === undefined || type === null || type === 'custom';
}

export function toolUnits(type: unknown): number {
  if (isCustomTool(type)) return 1;
  return typeof type === 'string' && type.includes('toolset') ? TOOLSET_UNITS : BUILT_IN_UNITS;
}

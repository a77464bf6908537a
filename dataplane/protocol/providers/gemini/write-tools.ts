/** Writes tools as function declarations, and the choice among them as `toolConfig`. */
import type { Settings, Tool, ToolChoice } from '../../conversation/request.ts';
import { toolDescription } from '../../conversation/texts.ts';
import type { JsonRecord } from '../../fields.ts';
import { toolSchema } from '../../json-schemas.ts';
import type { ToolNames } from '../../tool-ids.ts';

export interface WrittenTools {
  readonly tools?: readonly JsonRecord[];
  readonly toolConfig?: JsonRecord;
}

/** `strictSchemas`: whether the model can be held to the schemas of tools. Without tools both are absent. */
export function writeTools(
  tools: readonly Tool[],
  { toolChoice }: Settings,
  { names, strictSchemas }: { readonly names: ToolNames; readonly strictSchemas: boolean },
): WrittenTools {
  if (tools.length === 0) return {};
  const isStrict = strictSchemas && tools.some(({ strict }) => strict?.value === true);
  const calling = writeChoice(toolChoice?.value, names) ?? (isStrict ? { mode: 'VALIDATED' } : undefined);
  return {
    tools: [{ functionDeclarations: tools.map((tool) => writeTool(tool, names)) }],
    ...(calling && { toolConfig: { functionCallingConfig: calling } }),
  };
}

function writeTool(tool: Tool, names: ToolNames): JsonRecord {
  const { $schema: _dialect, ...parameters } = toolSchema(tool.schema);
  return { name: names.send(tool.name), description: toolDescription(tool), parametersJsonSchema: parameters };
}

/** Undefined: the model chooses, which is the default. Only some tools may be chosen where one must be called. */
function writeChoice(choice: ToolChoice | undefined, names: ToolNames): JsonRecord | undefined {
  if (!choice) return undefined;
  const allowed = choice.names && { allowedFunctionNames: choice.names.map((name) => names.send(name)) };
  switch (choice.mode) {
    case 'None':
      return { mode: 'NONE' };
    case 'Required':
      return { mode: 'ANY', ...allowed };
    case 'Auto':
      return allowed && { mode: 'VALIDATED', ...allowed };
  }
}

/** The choice among tools, for providers that can force one tool, and otherwise only all of them. */
import type { Tool, ToolChoice } from './request.ts';

/** The tool that the model must call; undefined: it may choose. */
export function forcedTool(choice: ToolChoice | undefined): string | undefined {
  const [name, another] = choice?.mode === 'Required' ? (choice.names ?? []) : [];
  return another === undefined ? name : undefined;
}

/** The tools to declare: where several may be called, without the others. */
export function allowedTools(tools: readonly Tool[], choice: ToolChoice | undefined): readonly Tool[] {
  const names = choice?.names;
  if (!names || forcedTool(choice) !== undefined) return tools;
  return tools.filter(({ name }) => names.includes(name));
}

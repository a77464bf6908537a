/**
 * Reads tools, wherever a request declares them. Tools that the provider would have to run, or describes itself, are
 * listed as unread.
 */
import type { Tool } from '../../conversation/request.ts';
import { isOmittedKind, kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isRecord, readRecords, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { toolParam, unversioned } from '../../provider-tools.ts';
import { malformed } from '../../unsupported.ts';
import type { ReadContext } from '../client.ts';
import { CUSTOM_TOOL, FUNCTION_TOOL, NAMESPACE_TOOL, TOOLS, TOOL_SEARCH_TOOL } from './table.ts';
import { ResponseToolNames, toolIdentity } from './tool-names.ts';

/** What a search by the client is called. */
const SEARCH = { kind: 'Search', name: 'tool_search' } as const;
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

interface ToolsContext extends Pick<ReadContext, 'providerTools'> {
  readonly unread: UnreadField[];
}

interface Declared {
  readonly tool: JsonRecord;
  readonly param: string;
  readonly namespace: string | undefined;
}

/** The tools of one request. */
export class RequestTools {
  readonly names = new ResponseToolNames();
  readonly #context: ToolsContext;
  readonly #declared = new Map<string, Tool>();
  readonly #paragraphs: string[] = [];

  constructor(context: ToolsContext) {
    this.#context = context;
  }

  /** In the order in which they were declared. */
  get declared(): readonly Tool[] {
    return [...this.#declared.values()];
  }

  /** Descriptions of namespaces, for the system prompt. */
  get paragraphs(): readonly string[] {
    return this.#paragraphs;
  }

  /** The name under which a search by the client is sent. */
  get searchName(): string {
    return this.names.send(SEARCH);
  }

  /** Throws RequestFault for a tool that is malformed. */
  declare(tools: unknown, param: string, namespace?: string): void {
    for (const [index, tool] of readRecords(tools, param).entries())
      this.#declareOne({ tool, param: `${param}[${index}]`, namespace });
  }

  #declareOne(declared: Declared): void {
    const { tool, param } = declared;
    const type = unversioned(tool['type']);
    if (isOmittedKind(TOOLS, type)) return this.#omit(param, type);
    switch (kindOf(TOOLS, tool['type'], { param: `${param}.type`, unread: this.#context.unread })) {
      case 'function':
        return this.#declareFunction(declared);
      case 'custom':
        return this.#declareCustom(declared);
      case 'tool_search':
        return this.#declareSearch(declared);
      case 'namespace':
        return this.#declareNamespace(declared);
      case undefined:
    }
  }

  /** Where the model's route refuses the provider's tools, so does the gateway. */
  #omit(param: string, type: string): void {
    const handling = TOOLS.kinds.get(type);
    const why = handling?.action === 'Omitted' ? handling.why : undefined;
    this.#context.unread.push(
      this.#context.providerTools === 'Refuse'
        ? { path: `${param}.type`, handling: 'Refused', why }
        : { path: toolParam(param, { type }), handling: 'Omitted', why },
    );
  }

  #declareFunction({ tool, param, namespace }: Declared): void {
    const fields = readFields(FUNCTION_TOOL, tool, { param, unread: this.#context.unread });
    const { name, description, parameters, strict } = fields;
    this.#add({
      name: this.names.send(toolIdentity('Function', nameOf(name, param), namespace)),
      description: textOf(description),
      schema: isRecord(parameters) ? parameters : undefined,
      // false only switches off what no other protocol does by default
      strict: strict === true ? { value: true, path: `${param}.strict` } : undefined,
      path: param,
    });
  }

  #declareCustom({ tool, param, namespace }: Declared): void {
    const fields = readFields(CUSTOM_TOOL, tool, { param, unread: this.#context.unread });
    const { name, description, format } = fields;
    const lines = [textOf(description), grammarOf(format)].filter((line) => line !== undefined);
    this.#add({
      name: this.names.send(toolIdentity('Custom', nameOf(name, param), namespace)),
      description: textOf(lines.join('\n\n')),
      schema: TEXT_INPUT,
      takesText: true,
      path: param,
    });
  }

  #declareSearch({ tool, param }: Declared): void {
    const fields = readFields(TOOL_SEARCH_TOOL, tool, { param, unread: this.#context.unread });
    const { execution, description, parameters } = fields;
    // without a search every tool is there from the beginning
    if (execution !== 'client') return;
    const schema = isRecord(parameters) ? parameters : undefined;
    this.#add({ name: this.searchName, description: textOf(description), schema, path: param });
  }

  #declareNamespace({ tool, param, namespace: outer }: Declared): void {
    const fields = readFields(NAMESPACE_TOOL, tool, { param, unread: this.#context.unread });
    const { name, description, tools } = fields;
    if (outer !== undefined) throw malformed(`${param}.type`, 'function or custom within a namespace');
    const namespace = nameOf(name, param);
    const text = textOf(description);
    if (text !== undefined) this.#paragraphs.push(`Tools whose names begin with "${namespace}":\n${text}`);
    this.declare(tools, `${param}.tools`, namespace);
  }

  /** A tool that joins again is the same tool. */
  #add(tool: Pick<Tool, 'name' | 'description' | 'schema' | 'path'> & Partial<Tool>): void {
    if (this.#declared.has(tool.name)) return;
    this.#declared.set(tool.name, { strict: undefined, examples: [], cache: undefined, takesText: false, ...tool });
  }
}

function nameOf(name: unknown, param: string): string {
  const text = textOf(name);
  if (text === undefined) throw malformed(`${param}.name`, 'a name');
  return text;
}

function grammarOf(format: unknown): string | undefined {
  if (!isRecord(format) || format['type'] !== 'grammar') return undefined;
  const { syntax, definition } = format;
  return `The input must match this ${stringOf(syntax)} grammar:\n${stringOf(definition)}`;
}

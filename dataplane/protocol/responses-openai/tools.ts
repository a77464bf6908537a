/**
 * Converts the tools of a request in the Responses dialect to functions of chat completions. Tools that the provider
 * would have to run, or describes itself, are left out and named, or refused where the model's route says so.
 */
import { isOmittedKind, readKind, readObject } from '../field-table.ts';
import { isRecord, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toolSchema } from '../json-schemas.ts';
import { toolParam, unversioned } from '../provider-tools.ts';
import { shortenDescription } from '../tool-descriptions.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { CUSTOM_TOOL, FUNCTION_TOOL, NAMESPACE_TOOL, TOOLS, TOOL_SEARCH_TOOL } from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';
import { ResponseToolNames } from '../clients/responses/tool-names.ts';

/** What a search by the client is called. */
const SEARCH = { kind: 'Search', name: 'tool_search' } as const;
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

export interface SentTool {
  readonly name: string;
  /** The path of the client's tool. */
  readonly param: string;
  readonly definition: JsonRecord;
}

interface Declared {
  readonly tool: JsonRecord;
  readonly param: string;
  readonly namespace: string | undefined;
}

/** The tools of one request. */
export class RequestTools {
  readonly names = new ResponseToolNames();
  readonly #target: Target;
  readonly #sent = new Map<string, SentTool>();
  readonly #paragraphs: string[] = [];

  constructor(target: Target) {
    this.#target = target;
  }

  /** In the order in which they were declared. */
  get sent(): readonly SentTool[] {
    return [...this.#sent.values()];
  }

  /** For the system message: descriptions of namespaces, and those that are too long for a tool. */
  get paragraphs(): readonly string[] {
    return this.#paragraphs;
  }

  /** Adds tools, wherever the request declares them. Throws RequestFault for one that cannot be converted. */
  declare(tools: unknown, param: string, namespace?: string): void {
    for (const [index, tool] of readRecords(tools, param).entries())
      this.#declareOne({ tool, param: `${param}[${index}]`, namespace });
  }

  #declareOne(declared: Declared): void {
    const { tool, param } = declared;
    const type = unversioned(tool['type']);
    if (isOmittedKind(TOOLS, type)) return this.#omit(declared, type);
    switch (readKind(TOOLS, tool['type'], location(this.#target, `${param}.type`))) {
      case 'function':
        return this.#declareFunction(declared);
      case 'custom':
        return this.#declareCustom(declared);
      case 'tool_search':
        return this.#declareSearch(declared);
      case 'namespace':
        return this.#declareNamespace(declared);
    }
  }

  #omit({ param }: Declared, type: string): void {
    const { plan, upstream, dropped } = this.#target;
    const handling = TOOLS.kinds.get(type);
    if (plan.providerTools === 'Refuse')
      throw unsupported(`${param}.type`, upstream, handling?.action === 'Omitted' ? handling.why : undefined);
    dropped.add(toolParam(param, { type }));
  }

  #declareFunction({ tool, param, namespace }: Declared): void {
    const { name, description, parameters, strict } = readObject(FUNCTION_TOOL, tool, location(this.#target, param));
    const sent = this.names.send({ kind: 'Function', name: nameOf(name, param), ...inNamespace(namespace) });
    const { capabilities, dropped, upstream } = this.#target;
    // Anthropic's part of the conversion decides by its own models
    const isStrict = strict === true && (upstream === 'Anthropic' || capabilities.strictSchemas);
    if (strict === true && !isStrict) dropped.add(`${param}.strict`);
    this.#add({
      name: sent,
      param,
      definition: {
        name: sent,
        description: this.#describe(sent, textOf(description)),
        parameters: toolSchema(parameters),
        strict: isStrict ? true : undefined,
      },
    });
  }

  #declareCustom({ tool, param, namespace }: Declared): void {
    const { name, description, format } = readObject(CUSTOM_TOOL, tool, location(this.#target, param));
    const sent = this.names.send({ kind: 'Custom', name: nameOf(name, param), ...inNamespace(namespace) });
    const lines = [textOf(description), grammarOf(format)].filter((line) => line !== undefined);
    this.#add({
      name: sent,
      param,
      definition: {
        name: sent,
        description: this.#describe(sent, textOf(lines.join('\n\n'))),
        parameters: TEXT_INPUT,
      },
    });
  }

  #declareSearch({ tool, param }: Declared): void {
    const { execution, description, parameters } = readObject(TOOL_SEARCH_TOOL, tool, location(this.#target, param));
    // without a search every tool is there from the beginning
    if (execution !== 'client') return;
    const sent = this.names.send(SEARCH);
    this.#add({
      name: sent,
      param,
      definition: {
        name: sent,
        description: this.#describe(sent, textOf(description)),
        parameters: toolSchema(parameters),
      },
    });
  }

  #declareNamespace({ tool, param, namespace: outer }: Declared): void {
    const { name, description, tools } = readObject(NAMESPACE_TOOL, tool, location(this.#target, param));
    if (outer !== undefined) throw malformed(`${param}.type`, 'function or custom within a namespace');
    const namespace = nameOf(name, param);
    const text = textOf(description);
    if (text !== undefined) this.#paragraphs.push(`Tools whose names begin with "${namespace}":\n${text}`);
    this.declare(tools, `${param}.tools`, namespace);
  }

  #describe(name: string, description: string | undefined): string | undefined {
    const {
      upstream,
      capabilities: { toolDescriptionLength },
    } = this.#target;
    return description === undefined || upstream === 'Anthropic'
      ? description
      : shortenDescription({ name, description }, toolDescriptionLength, this.#paragraphs);
  }

  /** A tool that joins again is the same tool. */
  #add(tool: SentTool): void {
    if (!this.#sent.has(tool.name)) this.#sent.set(tool.name, tool);
  }
}

/** The name under which a search by the client is sent. */
export function searchName(names: ResponseToolNames): string {
  return names.send(SEARCH);
}

function nameOf(name: unknown, param: string): string {
  const text = textOf(name);
  if (text === undefined) throw malformed(`${param}.name`, 'a name');
  return text;
}

function inNamespace(namespace: string | undefined): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function grammarOf(format: unknown): string | undefined {
  if (!isRecord(format) || format['type'] !== 'grammar') return undefined;
  const { syntax, definition } = format;
  return `The input must match this ${stringOf(syntax)} grammar:\n${stringOf(definition)}`;
}

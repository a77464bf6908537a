/**
 * Calls of the client's tools in the response: of functions, of custom tools, whose input is a text, and of the client's
 * search for tools.
 */
import type { ResponseTool } from '../../converter.ts';
import { parseArguments } from '../../conversation/arguments.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { CustomInput } from '../custom-input.ts';
import { itemMembers, placeMembers } from './output-item.ts';
import type { ItemContext, ItemStatus, OutputItem } from './output-item.ts';

export interface CallOptions {
  readonly callId: string;
  readonly tool: ResponseTool;
}

/** A call whose arguments are added in pieces. */
export interface CallItem extends OutputItem {
  add(text: string): string;
}

export function isCall(item: OutputItem): item is CallItem {
  return item instanceof Call;
}

export function openCall(context: ItemContext, options: CallOptions): CallItem {
  switch (options.tool.kind) {
    case 'Function':
      return new FunctionCall(context, options);
    case 'Custom':
      return new CustomCall(context, options);
    case 'Search':
      return new SearchCall(context, options);
  }
}

abstract class Call implements CallItem {
  json = '';
  protected readonly context: ItemContext;
  protected readonly options: CallOptions;
  protected readonly place: string;

  constructor(context: ItemContext, options: CallOptions) {
    this.context = context;
    this.options = options;
    this.place = placeMembers(context);
  }

  open(): string {
    const { events, index } = this.context;
    return events.write('response.output_item.added', itemMembers(index, this.write('in_progress')));
  }

  close(status: ItemStatus): string {
    const { events, index } = this.context;
    const closing = this.finish();
    this.json = this.write(status);
    return closing + events.write('response.output_item.done', itemMembers(index, this.json));
  }

  protected named(): JsonRecord {
    const { name, namespace } = this.options.tool;
    return { name, ...(namespace === undefined ? {} : { namespace }) };
  }

  abstract add(text: string): string;
  /** The events between the last delta and the whole item. */
  protected abstract finish(): string;
  protected abstract write(status: string): string;
}

class FunctionCall extends Call {
  #arguments = '';

  add(text: string): string {
    if (text === '') return '';
    this.#arguments += text;
    const delta = `${this.place},"delta":${JSON.stringify(text)}`;
    return this.context.events.write('response.function_call_arguments.delta', delta);
  }

  /** Calls without arguments have none at some providers; clients parse them. */
  protected finish(): string {
    const empty = this.#arguments.trim() === '' ? this.add('{}') : '';
    const done =
      `${this.place},"name":${JSON.stringify(this.options.tool.name)},` +
      `"arguments":${JSON.stringify(this.#arguments)}`;
    return empty + this.context.events.write('response.function_call_arguments.done', done);
  }

  protected write(status: string): string {
    return writeJson({
      id: this.context.id,
      type: 'function_call',
      status,
      ...this.named(),
      call_id: this.options.callId,
      arguments: this.#arguments,
    });
  }
}

class CustomCall extends Call {
  readonly #input = new CustomInput();

  add(text: string): string {
    return this.#delta(this.#input.add(text));
  }

  protected finish(): string {
    const rest = this.#delta(this.#input.end());
    const done = `${this.place},"input":${JSON.stringify(this.#input.text)}`;
    return rest + this.context.events.write('response.custom_tool_call_input.done', done);
  }

  protected write(status: string): string {
    return writeJson({
      id: this.context.id,
      type: 'custom_tool_call',
      status,
      ...this.named(),
      call_id: this.options.callId,
      input: this.#input.text,
    });
  }

  #delta(text: string): string {
    if (text === '') return '';
    const delta = `${this.place},"delta":${JSON.stringify(text)}`;
    return this.context.events.write('response.custom_tool_call_input.delta', delta);
  }
}

/** Its arguments are a value, which has no deltas. */
class SearchCall extends Call {
  #arguments = '';

  add(text: string): string {
    this.#arguments += text;
    return '';
  }

  protected finish(): string {
    return '';
  }

  protected write(status: string): string {
    return writeJson({
      id: this.context.id,
      type: 'tool_search_call',
      status,
      execution: 'client',
      call_id: this.options.callId,
      arguments: status === 'in_progress' ? {} : (parseArguments(this.#arguments) ?? {}),
    });
  }
}

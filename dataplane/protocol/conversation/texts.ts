/** Text forms of parts that a protocol has no kind of its own for. */
import type { SearchResultPart, Tool } from './request.ts';
import { writeJson } from '../json-value.ts';

export function searchResultText({ title, source, texts }: SearchResultPart): string {
  return `Title: ${title}\nSource: ${source}\n\n${texts.join('\n\n')}`;
}

/** The description of a tool, with its examples of arguments for protocols that have no field for them. */
export function toolDescription({ description, examples }: Pick<Tool, 'description' | 'examples'>): string | undefined {
  if (examples.length === 0) return description;
  const lines = ['Examples of input:', ...examples.map(writeJson)].join('\n');
  return description === undefined ? lines : `${description}\n\n${lines}`;
}

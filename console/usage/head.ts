/** [P] The head of Usage's pages: the heading, and the tabs, which keep the filter and the period. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { pageHead } from '../components/page.ts';
import { tabs } from '../components/tabs.ts';
import { withParameters } from '../paths.ts';

const PAGES = [
  { page: 'report', path: '/usage', label: 'Report' },
  { page: 'calls', path: '/usage/calls', label: 'Calls' },
  { page: 'refused', path: '/usage/refused', label: 'Refused' },
  { page: 'months', path: '/usage/months', label: 'Months' },
  { page: 'margins', path: '/usage/margins', label: 'Margins' },
] as const;
export type UsagePage = (typeof PAGES)[number]['page'];

interface UsageHead {
  readonly page: UsagePage;
  readonly title: string;
  readonly lede: Html | string;
  /** The person may see margins. */
  readonly margins: boolean;
  /** The filter and the period, which the tabs keep. */
  readonly kept: Readonly<Record<string, string>>;
}

/** The first piece of a page of Usage. */
export function usageHead({ page, title, lede, margins, kept }: UsageHead): Html {
  const choices = PAGES.filter((each) => each.page !== 'margins' || margins).map(({ path, label, page: of }) => ({
    label,
    href: withParameters(path, kept),
    current: of === page,
  }));
  return html`${pageHead({ title, lede })} ${tabs('Usage', choices)}`;
}

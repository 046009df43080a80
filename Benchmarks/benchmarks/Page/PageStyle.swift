/// The look of the page: one column on a phone, lines of a table where there is room; light or dark
/// as the reader's system is.
enum PageStyle {
  static let text = """
    :root {
      --page: #fbfbf9; --card: #fff; --ink: #1c1e21; --soft: #5b6168; --rule: #dfe1e4;
      --ours: #0b62a4; --ahead: #c2500a; --behind: #5f8f7b;
      --c0: #0b62a4; --c1: #c2500a; --c2: #2f8f6b; --c3: #a0408f; --c4: #8a6d00; --c5: #4a5560;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #15171a; --card: #1e2125; --ink: #e7e9ec; --soft: #a3abb4; --rule: #383d44;
        --ours: #6cb6f5; --ahead: #f39a5c; --behind: #7fbfa5;
        --c0: #6cb6f5; --c1: #f39a5c; --c2: #6fd0a8; --c3: #dc8fce; --c4: #dcc05a; --c5: #b3bcc6;
      }
    }
    * { box-sizing: border-box; }
    body {
      margin: 0 auto; padding: 1rem; max-width: 68rem; background: var(--page); color: var(--ink);
      font: 15px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums;
    }
    h1 { margin: 0; font-size: 1.6rem; }
    h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
    h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
    p { margin: .2rem 0 .6rem; color: var(--soft); }
    header p { overflow-wrap: anywhere; }
    nav { display: flex; flex-wrap: wrap; gap: .4rem .9rem; }
    a { color: var(--ours); }
    .tiles { display: flex; flex-wrap: wrap; gap: .5rem; margin: .8rem 0; }
    .tiles div {
      flex: 1 1 7rem; padding: .5rem .8rem; background: var(--card);
      border: 1px solid var(--rule); border-radius: .5rem;
    }
    .tiles dt { color: var(--soft); font-size: .85rem; }
    .tiles dd { margin: 0; font-size: 1.4rem; font-weight: 600; }
    article {
      margin: .7rem 0; padding: .8rem 1rem; background: var(--card);
      border: 1px solid var(--rule); border-radius: .5rem;
    }
    .row {
      display: grid; align-items: center; column-gap: 1rem;
      grid-template-columns: 10.5rem 9.5rem minmax(0, 3fr) minmax(0, 2fr);
    }
    .row.ours .name { font-weight: 600; color: var(--ours); }
    .figures { display: flex; justify-content: space-between; }
    .figures i { font-style: normal; color: var(--soft); }
    svg { display: block; overflow: visible; }
    svg text { fill: var(--soft); font-size: 11px; }
    .tick { stroke: var(--rule); stroke-width: 1; }
    .one { stroke: var(--soft); stroke-width: 1.5; }
    .range { stroke: var(--ink); stroke-width: 1.5; }
    .ours .bar, .ours .dot { fill: var(--ours); }
    .ahead .bar, .ahead .dot { fill: var(--ahead); }
    .behind .bar, .behind .dot, .even .dot { fill: var(--behind); }
    .noisy .bar { opacity: .4; }
    .dot { fill-opacity: .55; }
    .median { stroke: var(--ink); stroke-width: 2; }
    .curve { stroke-width: 2; }
    .curve.c0 { stroke: var(--c0); } .curve.c1 { stroke: var(--c1); }
    .curve.c2 { stroke: var(--c2); } .curve.c3 { stroke: var(--c3); }
    .curve.c4 { stroke: var(--c4); } .curve.c5 { stroke: var(--c5); }
    .point.c0 { fill: var(--c0); } .point.c1 { fill: var(--c1); } .point.c2 { fill: var(--c2); }
    .point.c3 { fill: var(--c3); } .point.c4 { fill: var(--c4); } .point.c5 { fill: var(--c5); }
    .legend {
      display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .5rem 0 0; padding: 0;
      list-style: none; color: var(--soft);
    }
    .legend b { color: var(--ink); font-weight: 600; }
    .key {
      display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 50%;
    }
    .key.c0 { background: var(--c0); } .key.c1 { background: var(--c1); }
    .key.c2 { background: var(--c2); } .key.c3 { background: var(--c3); }
    .key.c4 { background: var(--c4); } .key.c5 { background: var(--c5); }
    footer { margin-top: 2rem; border-top: 1px solid var(--rule); }
    @media (max-width: 44rem) {
      body { padding: .7rem; }
      article { padding: .7rem; }
      .row { grid-template-columns: minmax(0, 1fr) auto; row-gap: .1rem; margin-bottom: .5rem; }
      .row svg { grid-column: 1 / -1; }
      .figures { gap: .8rem; }
      .tiles div { flex-basis: 40%; }
      .axis span { display: none; }
      .axis { margin-bottom: 0; }
      .axis svg + svg { display: none; }
    }
    """
}

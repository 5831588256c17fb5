"""What the fast suite leaves to the slow one: most cases of long sweeps, and a few tests that take long at once.

Nothing is lost: ``pytest -m slow`` runs the rest. The sweeps were chosen by their time (over a second in all).
"""

SWEEPS: dict[str, tuple[str, ...]] = {
    "arithmetic/test_ball.py": (
        "test_a_softmax_mean_is_in_its_ball",
        "test_softmax_is_proven_right_on_all_short_words",
    ),
    "arithmetic/test_floating.py": ("test_a_softmax_mean_is_within_its_error_of_the_exact_one",),
    "arithmetic/test_hard_by_softmax.py": ("test_softmax_is_average_hard_attention_number_by_number",),
    "arithmetic/test_plain.py": ("test_small_inputs_come_out_right",),
    "certify/test_certificates.py": (
        "test_a_temperature_that_is_too_high_goes_wrong",
        "test_certified_softmax_agrees_with_the_evaluator",
    ),
    "cli/test_process.py": (
        "test_closed_streams_are_no_error",
        "test_every_command_has_help_with_an_example",
    ),
    "cli/test_show_compile_zoo.py": ("test_what_the_zoo_prints_as_a_source_is_one",),
    "compiler/test_compiler.py": ("test_the_weights_of_random_programs_compute_exactly_what_their_signals_say",),
    "engines/dense/test_engine.py": ("test_reading_in_pieces_gives_what_reading_at_once_gives",),
    "engines/dense/test_guessing.py": ("test_random_decoders_say_the_same_with_guesses_and_without",),
    "engines/fast/test_kernels.py": (
        "test_corners_are_best_only_if_no_position_bonus_outweighs_a_step",
        "test_groups_agree_with_comparing_all_keys",
    ),
    "engines/fast/test_machines.py": ("test_machines_of_the_zoo",),
    "engines/fast/test_segments.py": ("test_ternary_machines_with_summaries",),
    "engines/fast/test_tables.py": ("test_random_transformers_as_bytecode",),
    "languages/counter/test_from_turing.py": (
        "test_machines_of_the_zoo_answer_as_they_do_on_a_tape",
        "test_numbers_of_the_relative_encoding_are_read_as_words",
        "test_random_machines_move_the_head_as_on_a_tape",
    ),
    "languages/counter/test_syntax.py": ("test_random_machines_survive_the_way_through_writer_and_reader",),
    "languages/crasp/test_relative.py": ("test_turing_machines_by_counters",),
    "languages/crasp/test_zoo_programs.py": (
        "test_the_slices_of_what_counting_recognises_have_polynomially_many_classes",
    ),
    "languages/srasp/test_zoo_programs.py": ("test_it_accepts_what_it_should_and_nothing_else",),
    "languages/temporal/test_evaluate.py": (
        "test_every_operator_means_what_its_definition_says_on_every_word_up_to_length_5",
    ),
    "languages/test_formats.py": (
        "test_a_damaged_file_is_read_or_refused_but_breaks_nothing",
        "test_no_text_whatsoever_breaks_a_reader",
    ),
    "signals/test_representation.py": ("test_looped_doubling_finds_what_is_reachable",),
    "test_zoo.py": (
        "test_a_machine_does_on_every_short_input_what_it_is_defined_to_do",
        "test_counter_machines_do_what_the_index_says",
        "test_counting_programs_do_in_a_decoder_what_the_index_says",
        "test_formulas_and_programs_do_what_the_index_says",
    ),
    "theorems/test_chapter_8.py": (
        "test_random_machines_agree_token_for_token",
        "test_the_formula_is_exact_for_machines_that_use_everything",
        "test_the_signals_already_agree_with_the_interpreter",
        "test_zoo_machines_run_exactly",
        "test_zoo_machines_run_inside_their_transformer",
        "test_zoo_machines_run_on_longer_random_inputs",
        "test_zoo_samples_come_out_of_the_transformer_as_the_index_says",
    ),
    "theorems/test_circuit.py": ("test_small_circuits_agree_on_all_inputs",),
    "theorems/test_connectivity.py": ("test_small_graphs_of_both_sorts",),
    "theorems/test_counter.py": (
        "test_machines_of_the_zoo_take_the_right_transitions",
        "test_tokens_that_are_not_the_machines_run_are_told",
    ),
    "theorems/test_crasp.py": (
        "test_parity_by_a_chain_of_thought",
        "test_random_programs_give_what_the_evaluator_gives",
        "test_words_are_encoded_in_lengths_through_the_relative_relation",
    ),
    "theorems/test_residues.py": (
        "test_every_short_input_is_right_in_exact_arithmetic",
        "test_random_machines_run_right_under_every_tape_convention",
    ),
    "theorems/test_srasp.py": (
        "test_programs_of_the_zoo_do_what_the_evaluator_does",
        "test_random_programs_do_what_the_evaluator_does",
        "test_what_the_language_has_is_right",
    ),
    "theorems/test_temporal.py": (
        "test_formulas_hold_where_the_evaluator_says",
        "test_random_formulas_hold_where_the_evaluator_says",
    ),
    "theorems/test_ternary.py": (
        "test_denoised_dimensions_are_those_of_the_cost_formula",
        "test_dimensions_are_those_of_the_cost_formula_and_below_the_papers",
        "test_every_short_input_is_run_as_the_interpreter_does",
    ),
    "to_circuit/test_to_circuit.py": ("test_the_circuit_says_what_the_transformer_says_on_every_word",),
}
"""Of these tests every fourth case is in the fast suite."""

LONG = {
    "arithmetic/test_fixed.py": ("test_all_sums_products_and_quotients_of_small_formats",),
    "arithmetic/test_floating.py": (
        "test_a_feed_forward_network_is_within_its_error_of_the_exact_one",
        "test_hard_attention_chooses_as_exact_numbers_do_or_not_at_all",
    ),
    "arithmetic/test_names.py": ("test_only_the_modules_of_the_chosen_one_are_imported",),
    "cli/test_process.py": (
        "test_a_full_disk_is_one_clear_message",
        "test_a_terminal_sees_the_answers_of_what_has_no_tape",
        "test_no_line_is_wider_than_the_terminal",
    ),
    "cli/test_slices.py": ("test_slices_are_drawn",),
    "engines/dense/test_engine.py": ("test_softmax_models_compute_what_a_few_lines_of_numpy_do",),
    "engines/dense/test_guessing.py": (
        "test_right_guesses_are_checked_many_at_a_time",
        "test_what_is_forgotten_leaves_no_trace",
    ),
    "engines/fast/test_machines.py": ("test_a_long_run_switches_to_the_fast_engine",),
    "engines/fast/test_segments.py": (
        "test_audits_of_segments_pass_and_find_a_wrong_token",
        "test_chapter_8_with_summaries_as_machine_code",
        "test_fast_and_dense_runs_are_the_same",
        "test_too_short_a_length_is_named",
    ),
    "engines/fast/test_tables.py": (
        "test_a_warm_softmax_is_declined_as_bytecode",
        "test_audits_of_bytecode_pass_and_find_a_wrong_token",
    ),
    "languages/circuit/test_generators.py": ("test_arithmetic_is_right_for_large_numbers",),
    "languages/counter/test_interpreter.py": (
        "test_a_run_is_followed_by_the_compiled_loop_as_by_the_plain_one",
        "test_the_compiled_loop_does_what_the_plain_one_does",
    ),
    "languages/counter/test_satisfiability.py": ("test_it_decides_as_trying_out_does",),
    "languages/crasp/test_syntax.py": ("test_a_written_program_is_read_back",),
    "languages/test_compiled.py": ("test_a_tape_grows_as_far_as_the_head_goes",),
    "languages/test_source_text.py": ("test_programs_and_counter_machines_are_kept",),
    "languages/test_turingmachine_io.py": ("test_a_machine_with_awkward_names_comes_back_as_it_was",),
    "test_zoo.py": ("test_the_universal_machine_does_what_random_machines_do",),
    "theorems/test_chapter_8.py": (
        "test_float32_stops_with_a_reason_where_it_can_no_longer_tell",
        "test_heads_a_million_cells_away_are_found_exactly_in_float64",
    ),
    "theorems/test_ternary.py": (
        "test_a_run_that_does_not_fit_is_noticed_and_the_length_that_would_do_is_named",
        "test_heads_cells_and_symbols_are_what_the_machine_has",
        "test_in_bfloat16_everything_but_what_heads_have_just_retrieved_is_ternary",
        "test_random_machines_generate_the_interpreters_trace",
        "test_soft_attention_at_the_certified_scale_runs_in_low_precision",
        "test_the_adder_of_the_papers_size_runs",
        "test_the_residual_stream_is_ternary_after_every_sublayer",
        "test_the_scale_is_the_one_that_the_gap_asks_for",
    ),
    "theorems/test_turing.py": (
        "test_letter_bounded_words_by_counting",
        "test_palindromes_by_the_relative_encoding",
        "test_palindromes_up_to_length_4_in_the_evaluator",
        "test_powers_of_two_by_counting",
    ),
}
"""These take seconds each."""

LEVELS = ("test_signals", "test_weights_in_rationals", "test_weights_in_float64")
HEAVY = (
    "turing-configuration-graph",
    "turing-",
    "circuit-evaluator",
    "turing-ternary-summary",
    "uniform-",
    "circuit-evaluator-threshold",
    "odd-walks",
    "nl-configuration-graph",
)
"""Of the table of cases: these theorems at these levels."""
